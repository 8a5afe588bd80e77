// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/penalties.h"

#include <cmath>

#include "sampling/logits.h"
#include "sampling/window.h"

namespace minfer {

bool PenaltiesAreOn(const SamplingSettings& settings) {
  return settings.penalty_last_n != 0 &&
         (settings.repetition_penalty != 1.0F || settings.frequency_penalty != 0.0F ||
          settings.presence_penalty != 0.0F);
}

void ApplyPenalties(const SamplingSettings& settings, absl::Span<const int32_t> history,
                    absl::Span<float> logits, TokenTally& tally, SamplingCounts& counts) {
  if (!PenaltiesAreOn(settings)) return;
  for (const int32_t token : NewestTokens(history, settings.penalty_last_n)) {
    ++counts.history_steps;
    if (tally.Holds(token)) tally.Set(token, tally.Get(token) + 1);
  }
  const double repetition = settings.repetition_penalty;
  for (const int32_t token : tally.touched()) {
    float& logit = logits[token];
    if (std::isinf(logit)) continue;
    const double value = logit;
    const float repeated = ClampToFinite(value > 0.0 ? value / repetition : value * repetition);
    logit =
        AddToLogit(repeated, -(static_cast<double>(tally.Get(token)) * settings.frequency_penalty +
                               settings.presence_penalty));
  }
  tally.Clear();
}

}  // namespace minfer
