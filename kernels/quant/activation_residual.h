// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What 8-bit activations leave out. A product with the row and one with its residual, added, have
// the precision of 15-bit activations and read the weights once.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/activation_blocks.h"

namespace minfer::kernels {

// Whether a format leaves a residual: the 8-bit ones do, F32 and BF16 are taken as they are.
inline bool HasResidual(ActivationFormat format) {
  return format == ActivationFormat::kQ8Block32 || format == ActivationFormat::kQ8Block256;
}

// residual[i] = x[i] - (value i of `row`), `row` being x in `format`: k values, a multiple of the
// format's block. residual may be x. Zero where x is not finite, so that the sum keeps the NaN of
// the first product alone.
KernelStatus ActivationResidual(ActivationFormat format, const float* x, const void* row, int64_t k,
                                float* residual);

}  // namespace minfer::kernels
