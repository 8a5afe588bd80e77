// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one look at a row of logits before anything is decided on it.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "base/status.h"

namespace minfer {

// The highest of the first `n_vocab` logits. INVALID_ARGUMENT for a row shorter than that,
// DATA_LOSS for NaN (naming the first such token) and for a row in which every logit is -infinity.
StatusOr<float> CheckLogits(absl::Span<const float> logits, int32_t n_vocab);

}  // namespace minfer
