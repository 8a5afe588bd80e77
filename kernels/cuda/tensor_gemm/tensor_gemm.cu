// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

#include <algorithm>

#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/tensor_gemm/tensor_gemm_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kConvertThreads = 256;

__global__ void __launch_bounds__(kConvertThreads)
    RowsToHalfKernel(const float4* x, int64_t count, uint2* out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kConvertThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kConvertThreads + threadIdx.x; i < count;
       i += step) {
    const float4 v = x[i];
    const __half2 low = __halves2half2(ClampedHalf(v.x), ClampedHalf(v.y));
    const __half2 high = __halves2half2(ClampedHalf(v.z), ClampedHalf(v.w));
    out[i] = make_uint2(*reinterpret_cast<const uint32_t*>(&low),
                        *reinterpret_cast<const uint32_t*>(&high));
  }
}

}  // namespace

bool HasTensorGemm(ElementType type) {
  const ElementTraits* traits = FindElementTraits(type);
  return traits != nullptr && traits->quantized && ReadsType(type);
}

KernelStatus RowsToHalf(const float* x, int64_t m, int64_t k, void* out, cudaStream_t stream) {
  if (m < 0 || k <= 0 || k % 8 != 0) return KernelStatus::kBadShape;
  if (reinterpret_cast<uintptr_t>(x) % 16 != 0) return KernelStatus::kBadAlignment;
  if (m == 0) return KernelStatus::kOk;
  const int64_t count = m * k / 4;
  const int64_t grid = std::min<int64_t>(CeilDiv(count, kConvertThreads), 1 << 14);
  return Launch(RowsToHalfKernel, {dim3(static_cast<unsigned>(grid)), dim3(kConvertThreads)},
                stream, reinterpret_cast<const float4*>(x), count, static_cast<uint2*>(out));
}

KernelStatus TensorGemm(const TensorGemmArgs& args, cudaStream_t stream) {
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  const int64_t grid_x = CeilDiv(args.m, kTensorTile);
  const int64_t grid_y = CeilDiv(args.n, kTensorTile);
  if (args.m < 0 || args.n < 0 || args.k <= 0 || args.k % kTensorDepth != 0 || row_bytes == 0 ||
      grid_x > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (args.m == 0 || args.n == 0) return KernelStatus::kOk;
  // Blocks that share weights are neighbours, so that they come from the L2 but once from memory.
  const LaunchShape shape{dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y)),
                          dim3(kTensorThreads)};
  return ForType(args.type, [&](auto tag) -> KernelStatus {
    constexpr ElementType kType = decltype(tag)::kType;
    if constexpr (RowDecoder<kType>::kIsFloat) {
      return KernelStatus::kUnsupportedType;
    } else {
      return Launch(TensorGemmKernel<kType>, shape, stream, args, row_bytes);
    }
  });
}

}  // namespace minfer::kernels::cuda
