// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/bias.h"

#include <cmath>

#include "sampling/logits.h"

namespace minfer {

void ApplyBias(absl::Span<const LogitBias> bias, absl::Span<float> logits) {
  for (const LogitBias& entry : bias) {
    float& logit = logits[entry.token];
    logit = std::isinf(entry.bias) ? entry.bias : AddToLogit(logit, entry.bias);
  }
}

}  // namespace minfer
