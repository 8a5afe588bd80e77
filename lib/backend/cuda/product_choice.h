// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which kernel multiplies with a matrix: by its type and shape, the number of rows, the device's
// row of the tier table and the levers. The ladder of kernels/cuda/README.md, whose table a test
// makes with this. Pure: a plan asks the same.
#pragma once

#include <cstdint>

#include "backend/cuda/tier_table.h"
#include "backend/device.h"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/small_gemm/small_gemm.h"

namespace minfer {

enum class ProductKernel : int32_t {
  kMmvq,      // integer dots, few rows
  kInteger,   // MMQ
  kHalves,    // half_gemm or hopper_gemm, decoded to scratch before, or F16 where it lies
  kDecoding,  // tensor_gemm
  kFloat,     // matvec for few rows, gemm
  kSmall,     // small_gemm
};

// The most rows that go to MMVQ; of halves that go to small_gemm; that one turn of MMQ takes, after
// which types without it are decoded first; and that large matrices take in two turns.
inline constexpr int64_t kFewRows = kernels::cuda::kMmvqMaxRows;
inline constexpr int64_t kSmallRows = kernels::cuda::kSmallGemmMaxRows - 1;
inline constexpr int64_t kTurnRows = kernels::cuda::kMmqMaxRows;
inline constexpr int64_t kTwoTurnRows = 2 * kTurnRows;

struct ProductShape {
  ElementType type = ElementType::kQ8_0;
  int64_t n = 0;  // rows of the matrix
  int64_t k = 0;
  int64_t rows = 0;       // of activations
  bool residual = false;  // 15-bit activations, where integer kernels have two passes
};

// Whether the rows are few ones: deterministic results come from kernels for any number.
bool TakesFewRows(const BackendOptions& options, int64_t rows);
// Whether few rows of the type go to integer dots.
bool UsesMmvq(const BackendOptions& options, ElementType type);

ProductKernel ChooseProduct(const BackendOptions& options, const CudaTier& tier,
                            const ProductShape& shape);

}  // namespace minfer
