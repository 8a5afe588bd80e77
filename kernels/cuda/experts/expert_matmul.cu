// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/experts/expert_matmul_kernel.cuh"

namespace minfer::kernels::cuda {

KernelStatus ExpertMatMul(const ExpertMatMulArgs& args, cudaStream_t stream) {
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  const int64_t grid_x = CeilDiv(args.n, kExpertWarps);
  if (args.n <= 0 || args.k <= 0 || args.n_experts <= 0 || args.fan_out <= 0 || args.n_slots < 0 ||
      args.n_slots > INT32_MAX / kWarp || args.n_slots % args.fan_out != 0 || row_bytes == 0 ||
      grid_x > kMaxGridX || args.n_experts > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (args.n_slots == 0) return KernelStatus::kOk;
  // As many experts as can have slots at all.
  const int64_t grid_y = std::min<int64_t>(args.n_slots, args.n_experts);
  const LaunchShape shape{dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y)),
                          dim3(kExpertThreads)};
  const int64_t bias_stride =
      WeightRowBytes(ElementType::kF32, args.n) / static_cast<int64_t>(sizeof(float));
  const bool few = args.n_slots <= args.n_experts;
  return ForType(args.type, [&](auto tag) {
    constexpr ElementType kType = decltype(tag)::kType;
    return few ? Launch(ExpertMatMulKernel<kType, 2>, shape, stream, args, row_bytes, bias_stride)
               : Launch(ExpertMatMulKernel<kType, 8>, shape, stream, args, row_bytes, bias_stride);
  });
}

}  // namespace minfer::kernels::cuda
