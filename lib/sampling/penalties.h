// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The three penalties on tokens that stand in the newest part of the history, prompt included.
#pragma once

#include "absl/types/span.h"
#include "sampling/candidates.h"
#include "sampling/settings.h"
#include "sampling/token_tally.h"

namespace minfer {

bool PenaltiesAreOn(const SamplingSettings& settings);

// For each token that occurs `count` > 0 times in the window:
//   repetition: logit > 0 ? logit / r : logit * r. N. S. Keskar et al., "CTRL: A conditional
//     transformer language model for controllable generation", 2019, section 4.1, with the negative
//     case as it is in general use (dividing a negative logit would favour the token);
//   frequency and presence: logit - count * frequency - presence. OpenAI API documentation,
//     "Frequency and presence penalties".
void ApplyPenalties(const SamplingSettings& settings, absl::Span<const int32_t> history,
                    absl::Span<float> logits, TokenTally& tally, SamplingCounts& counts);

}  // namespace minfer
