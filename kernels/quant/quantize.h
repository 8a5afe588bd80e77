// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Encodes f32 rows in some of the stored types by plain rounding to nearest: enough to make small
// quantised models and test inputs. A quantiser for publishing searches for better scales.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels {

// F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K and Q6_K.
bool CanQuantize(ElementType type);

// Encodes `count` values, a multiple of the type's block, into `blocks` (no alignment needed).
KernelStatus QuantizeRow(ElementType type, const float* x, void* blocks, int64_t count);

}  // namespace minfer::kernels
