// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/product_choice.h"

#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

namespace minfer {
namespace {

// Rows of a matrix from which on two turns of MMQ are faster than decoding it first.
constexpr int64_t kLargeMatrix = 4096;

bool IsHalf(ElementType type) { return type == ElementType::kF16 || type == ElementType::kBF16; }

bool UsesSmall(const BackendOptions& options, const CudaTier& tier, const ProductShape& shape) {
  return options.small_m_gemm && options.prefill_gemm && !options.deterministic &&
         tier.async_copy && shape.rows <= kSmallRows &&
         kernels::cuda::HasSmallGemm(shape.type, shape.k);
}

}  // namespace

bool TakesFewRows(const BackendOptions& options, int64_t rows) {
  return rows <= kFewRows && !options.deterministic;
}

bool UsesMmvq(const BackendOptions& options, ElementType type) {
  const bool super_blocks = FindElementTraits(type)->block_elements == 256;
  return options.mmvq && (options.kq_mmvq || !super_blocks) && !options.reference &&
         kernels::cuda::HasMmvq(type);
}

ProductKernel ChooseProduct(const BackendOptions& options, const CudaTier& tier,
                            const ProductShape& shape) {
  if (options.reference) return ProductKernel::kFloat;
  if (TakesFewRows(options, shape.rows)) {
    return UsesMmvq(options, shape.type)     ? ProductKernel::kMmvq
           : UsesSmall(options, tier, shape) ? ProductKernel::kSmall
                                             : ProductKernel::kFloat;
  }
  const bool any_rows = options.deterministic;
  // Before 8.0 nothing else has tensor cores.
  const bool any_turns = any_rows || !tier.async_copy;
  const bool large = !shape.residual && shape.n >= kLargeMatrix;
  if (options.mmq && tier.integer_matrix &&
      (any_turns || shape.rows <= (large ? kTwoTurnRows : kTurnRows)) &&
      kernels::cuda::HasMmq(shape.type, shape.k)) {
    return ProductKernel::kInteger;
  }
  if (!options.prefill_gemm || !tier.async_copy) return ProductKernel::kFloat;
  if (UsesSmall(options, tier, shape)) return ProductKernel::kSmall;
  if (options.decode_gemm && !any_rows &&
      shape.rows > (IsHalf(shape.type) ? kSmallRows : kTurnRows) && shape.k % 8 == 0 &&
      kernels::cuda::HasHalfDecoder(shape.type)) {
    return ProductKernel::kHalves;
  }
  return kernels::cuda::HasTensorGemm(shape.type) ? ProductKernel::kDecoding
                                                  : ProductKernel::kFloat;
}

}  // namespace minfer
