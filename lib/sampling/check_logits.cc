// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/check_logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace minfer {

StatusOr<float> CheckLogits(absl::Span<const float> logits, int32_t n_vocab) {
  if (n_vocab <= 0 || logits.size() < static_cast<size_t>(n_vocab)) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kSampling,
                  absl::StrCat(logits.size(), " logits for a vocabulary of ", n_vocab));
  }
  float highest = -std::numeric_limits<float>::infinity();
  for (int32_t id = 0; id < n_vocab; ++id) {
    if (std::isnan(logits[id])) {
      return Status(StatusCode::kDataLoss, Subsystem::kSampling,
                    absl::StrCat("logit of token ", id, " is NaN"));
    }
    highest = std::max(highest, logits[id]);
  }
  if (std::isinf(highest) && highest < 0.0F) {
    return Status(StatusCode::kDataLoss, Subsystem::kSampling,
                  absl::StrCat("all ", n_vocab, " logits are -inf"));
  }
  return highest;
}

}  // namespace minfer
