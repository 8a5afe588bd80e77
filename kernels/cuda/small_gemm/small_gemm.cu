// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/small_gemm/small_gemm.h"

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/small_gemm/small_gemm_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

// Matrices with fewer blocks of 32 rows than a large device runs at once are cut into blocks of 16.
constexpr int64_t kFewBlocks = 264;

template <ElementType type, int kTiles, int kColumns>
KernelStatus LaunchSmall(const SmallGemmArgs& args, KernelStream stream) {
  const int64_t grid = CeilDiv(args.n, 16 * kTiles);
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  return Launch(SmallGemmKernel<type, kTiles, kColumns>,
                {dim3(static_cast<unsigned>(grid)), dim3(kSmallThreads)}, stream, args,
                WeightRowBytes(type, args.k));
}

template <ElementType type>
KernelStatus RunSmall(const SmallGemmArgs& args, KernelStream stream) {
  const bool narrow = CeilDiv(args.n, 32) < kFewBlocks;
  if (args.m <= 8) {
    return narrow ? LaunchSmall<type, 1, 1>(args, stream) : LaunchSmall<type, 2, 1>(args, stream);
  }
  if (args.m <= 16) {
    return narrow ? LaunchSmall<type, 1, 2>(args, stream) : LaunchSmall<type, 2, 2>(args, stream);
  }
  return narrow ? LaunchSmall<type, 1, 4>(args, stream) : LaunchSmall<type, 2, 4>(args, stream);
}

}  // namespace

bool HasSmallGemm(ElementType type, int64_t k) {
  return (type == ElementType::kF16 || type == ElementType::kBF16) && k % 8 == 0;
}

KernelStatus SmallGemm(const SmallGemmArgs& args, KernelStream stream) {
  if (!HasSmallGemm(args.type, args.k)) return KernelStatus::kUnsupportedType;
  if (args.m < 0 || args.m > kSmallGemmMaxRows || args.n < 0 || args.k <= 0) {
    return KernelStatus::kBadShape;
  }
  if (reinterpret_cast<uintptr_t>(args.x) % 16 != 0 ||
      reinterpret_cast<uintptr_t>(args.weights) % 16 != 0) {
    return KernelStatus::kBadAlignment;
  }
  if (args.m == 0 || args.n == 0) return KernelStatus::kOk;
  return args.type == ElementType::kF16 ? RunSmall<ElementType::kF16>(args, stream)
                                        : RunSmall<ElementType::kBF16>(args, stream);
}

}  // namespace minfer::kernels::cuda
