// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// DRY ("don't repeat yourself"): a penalty on tokens that would carry a repetition on.
//
// P. E. Weidmann (p-e-w), oobabooga/text-generation-webui pull request 5677, 2024. When the newest
// n tokens also stand earlier in the history, the token t that followed them there gets
//   logit(t) -= multiplier * base^(n - allowed_length)     for n >= allowed_length,
// with the longest such n of each t. A sequence breaker is never part of a repetition and never
// penalised.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sampling/candidates.h"
#include "sampling/settings.h"
#include "sampling/token_tally.h"

namespace minfer {

bool DryIsOn(const SamplingSettings& settings);

struct DryScratch {
  std::vector<int32_t> match_lengths;
  TokenTally longest;
};

// Linear in the window whatever the history holds. `sorted_breakers` is the settings' set in rising
// order.
void ApplyDry(const SamplingSettings& settings, absl::Span<const int32_t> sorted_breakers,
              absl::Span<const int32_t> history, absl::Span<float> logits, DryScratch& scratch,
              SamplingCounts& counts);

}  // namespace minfer
