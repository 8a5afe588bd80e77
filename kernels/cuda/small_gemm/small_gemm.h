// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of up to 32 rows of halves with a matrix stored as F16 or BF16, on tensor cores with
// sums in f32 (mma m16n8k16, from compute capability 8.0 on). The matrix is read once for all rows,
// and a row's result has the same bits whatever the number of rows beside it.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kSmallGemmMaxRows = 32;

// Whether there is a kernel for rows of k weights.
bool HasSmallGemm(ElementType type, int64_t k);

struct SmallGemmArgs {
  ElementType type = ElementType::kF16;
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  int64_t k = 0;            // a multiple of 8
  const void* x = nullptr;  // m rows of k halves
  int64_t m = 0;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t out_stride = 0;
};

KernelStatus SmallGemm(const SmallGemmArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
