// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The RoPE keys of a model, "A.rope.*".
#pragma once

#include "models/hyperparameters.h"
#include "models/key_reader.h"

namespace minfer {

// Reads them into hp->rope; head sizes and n_ctx_train are known before.
//   linear    angle = a / factor
//   yarn      angle = (1 - keep) a / factor + keep a, keep = ramp * yarn_ext_factor; the ramp lies
//             between yarn_beta_fast and yarn_beta_slow turns of the original context; magnitude
//             1 + 0.1 ln factor, 1 where the ext factor is 0; yarn_attn_factor must be 1 or say
//             the same, yarn_log_multiplier must be 0
//   longrope  angle = a / f_i, the factors f from a tensor
// attn_factor multiplies the magnitude in all of them. A value that has no formula here is refused
// by name.
Status ReadRopeSettings(const KeyReader& keys, Hyperparameters* hp);

}  // namespace minfer
