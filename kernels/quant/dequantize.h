// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Decodes rows of stored weights to f32, bit for bit as the formats say: each product and each
// difference is one f32 rounding.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels {

// True for the types that DequantizeRow takes.
bool CanDequantize(ElementType type);

// Decodes `count` values, a multiple of the type's block, that start at `blocks` (no alignment).
KernelStatus DequantizeRow(ElementType type, const void* blocks, float* out, int64_t count);

}  // namespace minfer::kernels
