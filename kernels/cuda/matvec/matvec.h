// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of few rows of f32 activations with a matrix of any type: weights are decoded to f32 in
// registers. For types without an integer dot product, and for all types where activations must not
// be quantised.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kMatvecMaxRows = 8;

struct MatvecArgs {
  ElementType type = ElementType::kF32;
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  int64_t k = 0;
  const float* x = nullptr;  // m rows of k values
  int64_t m = 0;             // 1 .. kMatvecMaxRows
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t out_stride = 0;
};

KernelStatus Matvec(const MatvecArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
