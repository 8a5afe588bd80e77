// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/activation_residual.h"

#include <cmath>

namespace minfer::kernels {
namespace {

template <class Block, int64_t kValues>
void Subtract(const float* x, const void* row, int64_t k, float* residual) {
  const Block* blocks = static_cast<const Block*>(row);
  for (int64_t b = 0; b < k / kValues; ++b) {
    for (int64_t i = 0; i < kValues; ++i) {
      const int64_t at = b * kValues + i;
      const float left = x[at] - blocks[b].scale * static_cast<float>(blocks[b].quants[i]);
      residual[at] = std::isfinite(left) ? left : 0.0f;
    }
  }
}

}  // namespace

KernelStatus ActivationResidual(ActivationFormat format, const float* x, const void* row, int64_t k,
                                float* residual) {
  switch (format) {
    case ActivationFormat::kF32:
    case ActivationFormat::kBF16:
      return KernelStatus::kUnsupportedType;
    case ActivationFormat::kQ8Block32:
      if (k < 0 || k % 32 != 0) return KernelStatus::kBadShape;
      Subtract<ActivationBlock32, 32>(x, row, k, residual);
      return KernelStatus::kOk;
    case ActivationFormat::kQ8Block256:
      if (k < 0 || k % 256 != 0) return KernelStatus::kBadShape;
      Subtract<ActivationBlock256, 256>(x, row, k, residual);
      return KernelStatus::kOk;
  }
  return KernelStatus::kUnsupportedType;
}

}  // namespace minfer::kernels
