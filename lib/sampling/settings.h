// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a host can set about sampling. Zero is a value in every field: the all-zero struct is greedy
// with everything off, and DefaultSamplingSettings() gives what a host gets that sets nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace minfer {

struct LogitBias {
  int32_t token = 0;
  float bias = 0.0F;  // added to the logit; -infinity bans the token
};

// Steps run in this order: bias, penalties, DRY, top-k, typical, top-p, min-p, XTC, temperature,
// draw. Mirostat takes the place of the truncations (top-k to XTC). At temperature 0 the token with
// the highest logit after bias, penalties and DRY is taken, the lowest id among equals, and no
// truncation is asked.
struct SamplingSettings {
  uint64_t seed = 0;  // every value, 0 too, is a seed: the library draws on no entropy of its own

  float temperature = 0.0F;  // 0 is greedy, 1 leaves the distribution as it is
  int32_t top_k = 0;         // 0 is no limit
  float top_p = 0.0F;        // 1 is off; 0 keeps the best token
  float min_p = 0.0F;        // 0 is off; above 1 keeps the best token
  float typical_p = 0.0F;    // 1 is off; 0 keeps the most typical token

  float xtc_probability = 0.0F;  // 0 is off
  float xtc_threshold = 0.0F;    // above 0.5 has no effect

  int32_t penalty_last_n = 0;  // newest tokens the three penalties look at; 0 is off, -1 is all
  float repetition_penalty = 0.0F;  // 1 is off; must be above 0 when penalty_last_n is not 0
  float frequency_penalty = 0.0F;   // 0 is off
  float presence_penalty = 0.0F;    // 0 is off

  float dry_multiplier = 0.0F;  // 0 is off
  float dry_base = 0.0F;        // at least 1 when DRY is on
  int32_t dry_allowed_length = 0;
  int32_t dry_last_n = 0;             // newest tokens DRY looks at; 0 is off, -1 is all
  std::vector<int32_t> dry_breakers;  // tokens that no repetition reaches across

  int32_t mirostat = 0;       // 0 is off, 2 is version 2
  float mirostat_tau = 0.0F;  // the surprise aimed at, in bits
  float mirostat_eta = 0.0F;  // the learning rate

  std::vector<LogitBias> logit_bias;  // several entries of one token add up
};

// Temperature 0.8, top-k 40, top-p 0.95, min-p 0.05, the rest off, with the usual figures in the
// parameters of what is off.
SamplingSettings DefaultSamplingSettings();

// Temperature 1 and every step off: the model's own distribution.
SamplingSettings NeutralSamplingSettings();

// INVALID_ARGUMENT naming the field and its value; OUT_OF_RANGE for a token id outside
// [0, n_vocab).
Status Validate(const SamplingSettings& settings, int32_t n_vocab);

}  // namespace minfer
