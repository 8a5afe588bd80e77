// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/log_probabilities.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampling/check_logits.h"
#include "sampling/truncations.h"

namespace minfer {

StatusOr<LogProbabilities> LogProbabilities::Create(absl::Span<const float> logits,
                                                    int32_t n_vocab) {
  MF_ASSIGN_OR_RETURN(const float highest, CheckLogits(logits, n_vocab));
  logits = logits.first(n_vocab);
  double total = 0.0;
  for (const float logit : logits) {
    if (logit == highest) {
      total += 1.0;
    } else if (const double below = static_cast<double>(logit) - highest; below > -708.0) {
      total += std::exp(below);
    }
  }
  return LogProbabilities(logits, highest, std::log(total));
}

float LogProbabilities::LogProbability(float logit) const {
  const double below = logit == highest_ ? 0.0 : static_cast<double>(logit) - highest_;
  return static_cast<float>(below - log_total_);
}

StatusOr<float> LogProbabilities::Of(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= logits_.size()) {
    return Status(StatusCode::kOutOfRange, Subsystem::kSampling,
                  absl::StrCat("token ", token, " is outside the vocabulary of ", logits_.size()));
  }
  return LogProbability(logits_[token]);
}

int32_t LogProbabilities::Top(absl::Span<TokenLogProbability> out,
                              std::vector<Candidate>& scratch) const {
  if (out.empty()) return 0;
  SamplingCounts counts;
  CandidateList list;
  list.counts = &counts;
  list.items.swap(scratch);
  list.items.resize(logits_.size());
  for (size_t id = 0; id < logits_.size(); ++id) {
    list.items[id] = {.id = static_cast<int32_t>(id), .logit = logits_[id]};
  }
  const size_t wanted = std::min(out.size(), logits_.size());
  TopK(list, static_cast<int32_t>(wanted));
  SortByRank(list);
  for (size_t i = 0; i < wanted; ++i) {
    out[i] = {list.items[i].id, LogProbability(list.items[i].logit)};
  }
  scratch.swap(list.items);
  return static_cast<int32_t>(wanted);
}

}  // namespace minfer
