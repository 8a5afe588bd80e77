// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Logit bias: a number added to the logit of a token, as the `logit_bias` of OpenAI's API
// reference.
#pragma once

#include "absl/types/span.h"
#include "sampling/settings.h"

namespace minfer {

// -infinity bans a token whatever its logit. Ids are those that Validate has checked.
void ApplyBias(absl::Span<const LogitBias> bias, absl::Span<float> logits);

}  // namespace minfer
