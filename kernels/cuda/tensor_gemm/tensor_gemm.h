// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of many rows of activations with a quantised matrix on tensor cores: activations are
// rounded to halves once, weights are decoded to halves tile by tile, sums are f32. From compute
// capability 8.0 on.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

// Whether the type has such a kernel: all quantised ones that are decoded.
bool HasTensorGemm(ElementType type);

// m rows of k floats to halves; what is larger than the largest half becomes it, a NaN stays.
// k: a multiple of 8.
KernelStatus RowsToHalf(const float* x, int64_t m, int64_t k, void* out, cudaStream_t stream);

struct TensorGemmArgs {
  ElementType type = ElementType::kQ8_0;
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  int64_t k = 0;
  const void* x = nullptr;  // m rows of k halves
  int64_t m = 0;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t out_stride = 0;
};

KernelStatus TensorGemm(const TensorGemmArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
