// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of many rows of f32 activations with a matrix of any type, tile by tile in f32: right by
// reading, and the last rung of the ladder of kernels for prompts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

struct GemmArgs {
  ElementType type = ElementType::kF32;
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  int64_t k = 0;
  const float* x = nullptr;  // m rows of k values
  int64_t m = 0;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t out_stride = 0;
  bool exact = false;  // sums in double, to check the others against
};

KernelStatus Gemm(const GemmArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
