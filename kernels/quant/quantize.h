// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Encodes f32 rows in the stored types. Every block stands alone and its scales are searched for
// (scale_search.h), so that the squared error is small; all values count the same.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels {

// F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS and MXFP4.
bool CanQuantize(ElementType type);

// Encodes `count` values, a multiple of the type's block, into `blocks` (no alignment needed).
// Values too large for the type are clipped; what those become that are not finite is not defined.
// Rounding must be to nearest.
KernelStatus QuantizeRow(ElementType type, const float* x, void* blocks, int64_t count);

}  // namespace minfer::kernels
