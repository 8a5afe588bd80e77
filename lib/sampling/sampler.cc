// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampling/bias.h"
#include "sampling/check_logits.h"
#include "sampling/draw.h"
#include "sampling/dry.h"
#include "sampling/penalties.h"
#include "sampling/random.h"
#include "sampling/truncations.h"

namespace minfer {
namespace {

Status SamplingError(StatusCode code, std::string message) {
  return Status(code, Subsystem::kSampling, std::move(message));
}

bool IsAllowed(absl::Span<const uint32_t> allowed, int32_t id) {
  return allowed.empty() || ((allowed[id / 32] >> (id % 32)) & 1U) != 0;
}

// Greedy: the list becomes its best candidate.
void KeepBest(CandidateList& list) {
  std::vector<Candidate>& items = list.items;
  list.counts->comparisons += static_cast<int64_t>(items.size()) - 1;
  items[0] = *std::min_element(items.begin(), items.end(), RanksBefore);
  items.resize(1);
  list.sorted = true;
}

}  // namespace

void SamplerScratch::Reserve(int32_t n_vocab) {
  logits.reserve(n_vocab);
  candidates.items.reserve(n_vocab);
  tally.Reserve(n_vocab);
  dry.longest.Reserve(n_vocab);
}

Sampler::Sampler(SamplingSettings settings, int32_t n_vocab)
    : settings_(std::move(settings)), sorted_breakers_(settings_.dry_breakers), n_vocab_(n_vocab) {
  std::sort(sorted_breakers_.begin(), sorted_breakers_.end());
}

StatusOr<Sampler> Sampler::Create(SamplingSettings settings, int32_t n_vocab) {
  if (n_vocab <= 0) {
    return SamplingError(StatusCode::kInvalidArgument,
                         absl::StrCat("a vocabulary of ", n_vocab, " tokens"));
  }
  MF_RETURN_IF_ERROR(Validate(settings, n_vocab));
  return Sampler(std::move(settings), n_vocab);
}

Status Sampler::EditLogits(const SampleInput& input, SamplerScratch& scratch) const {
  scratch.logits.assign(input.logits.begin(), input.logits.begin() + n_vocab_);
  const absl::Span<float> logits = absl::MakeSpan(scratch.logits);
  if (input.editor.edit != nullptr) {
    MF_RETURN_IF_ERROR(input.editor.edit(input.editor.user_data, logits));
    for (int32_t id = 0; id < n_vocab_; ++id) {
      if (std::isnan(logits[id])) {
        return SamplingError(
            StatusCode::kInvalidArgument,
            absl::StrCat("the sampling callback left NaN as the logit of token ", id));
      }
    }
  }
  ApplyBias(settings_.logit_bias, logits);
  ApplyPenalties(settings_, input.history, logits, scratch.tally, scratch.counts);
  ApplyDry(settings_, sorted_breakers_, input.history, logits, scratch.dry, scratch.counts);
  return OkStatus();
}

Status Sampler::Gather(const SampleInput& input, SamplerScratch& scratch) const {
  CandidateList& list = scratch.candidates;
  list.items.clear();
  list.sorted = false;
  list.weighted = false;
  list.total = 0.0;
  list.counts = &scratch.counts;
  for (int32_t id = 0; id < n_vocab_; ++id) {
    const float logit = scratch.logits[id];
    if (logit == -std::numeric_limits<float>::infinity() || !IsAllowed(input.allowed, id)) continue;
    list.items.push_back({.id = id, .logit = logit});
  }
  if (!list.items.empty()) return OkStatus();
  return SamplingError(StatusCode::kFailedPrecondition,
                       absl::StrCat("no token is left to pick at position ", input.position,
                                    ": bias, mask and callback ban all ", n_vocab_));
}

int32_t Sampler::TopNeeded() const {
  if (!settings_.logit_bias.empty() || PenaltiesAreOn(settings_) || DryIsOn(settings_)) return 0;
  if (settings_.temperature == 0.0F) return 1;
  // One more than top-k keeps: it tells that there are more to keep from.
  if (UsesMirostat() || settings_.top_k <= 0 || settings_.top_k >= kMaxTopLogits) return 0;
  return settings_.top_k + 1;
}

bool Sampler::TopSuffices(absl::Span<const TopLogit> top) const {
  const int32_t needed = TopNeeded();
  return needed > 0 && top.size() >= static_cast<size_t>(needed) &&
         top[static_cast<size_t>(needed) - 1].logit > -std::numeric_limits<float>::infinity();
}

// As Gather and TopK leave the list.
void Sampler::GatherTop(absl::Span<const TopLogit> top, SamplerScratch& scratch) const {
  CandidateList& list = scratch.candidates;
  list.items.clear();
  list.sorted = true;
  list.weighted = false;
  list.total = 0.0;
  list.counts = &scratch.counts;
  const int32_t kept = settings_.temperature == 0.0F ? 1 : settings_.top_k;
  for (const TopLogit& entry : top.first(static_cast<size_t>(kept))) {
    list.items.push_back({.id = entry.id, .logit = entry.logit});
  }
}

double Sampler::MirostatMu(int64_t position) const {
  // The paper starts at twice the target.
  return mirostat_.At(position, 2.0 * settings_.mirostat_tau);
}

double Sampler::Truncate(const SampleInput& input, CandidateList& list) const {
  if (UsesMirostat()) return MirostatCut(list, MirostatMu(input.position));
  TopK(list, settings_.top_k);
  Typical(list, settings_.typical_p);
  TopP(list, settings_.top_p);
  MinP(list, settings_.min_p);
  if (settings_.xtc_probability > 0.0F) {
    Xtc(list, settings_.xtc_probability, settings_.xtc_threshold,
        UniformRandom(settings_.seed, input.position, RandomDraw::kXtc));
  }
  return 0.0;
}

Status Sampler::GatherRow(const SampleInput& input, SamplerScratch& scratch) const {
  scratch.Reserve(n_vocab_);
  MF_RETURN_IF_ERROR(CheckLogits(input.logits, n_vocab_).status());
  const auto mask_words = (static_cast<size_t>(n_vocab_) + 31) / 32;
  if (!input.allowed.empty() && input.allowed.size() < mask_words) {
    return SamplingError(StatusCode::kInvalidArgument,
                         absl::StrCat("a mask of ", input.allowed.size(), " words for ", n_vocab_,
                                      " tokens: ", mask_words, " are needed"));
  }
  MF_RETURN_IF_ERROR(EditLogits(input, scratch));
  return Gather(input, scratch);
}

StatusOr<double> Sampler::Run(const SampleInput& input, SamplerScratch& scratch) const {
  scratch.counts = {};
  if (!input.top.empty() && TopSuffices(input.top)) {
    GatherTop(input.top, scratch);
  } else {
    MF_RETURN_IF_ERROR(GatherRow(input, scratch));
  }
  CandidateList& list = scratch.candidates;
  if (settings_.temperature == 0.0F) {
    KeepBest(list);
    ComputeWeights(list);
    return 0.0;
  }
  const double total = Truncate(input, list);
  // The total is below 1 where a truncation took the best candidate, which had weight 1.
  if (!list.weighted || settings_.temperature != 1.0F || list.total < 1.0) {
    ComputeWeights(list, settings_.temperature);
  }
  return total;
}

Status Sampler::Distribution(const SampleInput& input, SamplerScratch& scratch) const {
  return Run(input, scratch).status();
}

StatusOr<SampledToken> Sampler::Sample(const SampleInput& input, SamplerScratch& scratch) const {
  MF_ASSIGN_OR_RETURN(const double total, Run(input, scratch));
  const CandidateList& list = scratch.candidates;
  const double uniform = list.items.size() == 1
                             ? 0.0
                             : UniformRandom(settings_.seed, input.position, RandomDraw::kToken);
  const Candidate& chosen = Draw(list, uniform);
  SampledToken sampled{.token = chosen.id, .position = input.position};
  if (UsesMirostat()) {
    // The cut keeps the best candidate, so the list's highest logit is still the model's.
    const double surprise = SurpriseBits(chosen.logit, MaxLogit(list), total);
    sampled.mirostat_mu = MirostatStep(MirostatMu(input.position), surprise, settings_.mirostat_tau,
                                       settings_.mirostat_eta);
  }
  return sampled;
}

void Sampler::Accept(const SampledToken& token) {
  if (UsesMirostat()) mirostat_.Commit(token.position, token.mirostat_mu);
}

void Sampler::Rewind(int64_t position) { mirostat_.Rewind(position); }

}  // namespace minfer
