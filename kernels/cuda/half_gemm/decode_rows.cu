// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Rows of weights to halves: a block a row, a thread eight values at a time. Bound by memory.
#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/half_gemm/half_gemm.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;

template <ElementType type>
__device__ __forceinline__ void DecodeHalves(const uint8_t* row, int64_t k, int64_t i,
                                             __half2* out) {
  float values[8];
  DecodeEight<type>(row, k, i, values);
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    if constexpr (type == ElementType::kBF16) {
      out[v] = __halves2half2(ClampedHalf(values[2 * v]), ClampedHalf(values[2 * v + 1]));
    } else {
      out[v] = __floats2half2_rn(values[2 * v], values[2 * v + 1]);
    }
  }
}

template <ElementType type>
__global__ void __launch_bounds__(kThreads)
    DecodeRowsKernel(DecodeRowsArgs args, int64_t row_bytes) {
  const int64_t r = blockIdx.x;
  const uint8_t* row = static_cast<const uint8_t*>(args.weights) + (args.first + r) * row_bytes;
  const int64_t to = args.interleaved ? r / 8 * 16 + args.group_offset + r % 8 : r;
  auto* out = static_cast<__half*>(args.out) + to * args.k;
  const auto groups = static_cast<int>(args.k / 8);
#pragma unroll 4
  for (int g = threadIdx.x; g < groups; g += kThreads) {
    __half2 halves[4];
    DecodeHalves<type>(row, args.k, int64_t{8} * g, halves);
    *reinterpret_cast<int4*>(out + 8 * g) = *reinterpret_cast<const int4*>(halves);
  }
}

}  // namespace

bool HasHalfDecoder(ElementType type) { return type != ElementType::kF32 && ReadsType(type); }

KernelStatus DecodeRowsToHalf(const DecodeRowsArgs& args, cudaStream_t stream) {
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  if (args.k <= 0 || args.k % 8 != 0 || row_bytes == 0 || args.first < 0 || args.count < 0 ||
      args.count > kMaxGridX) {
    return KernelStatus::kBadShape;
  }
  if (args.count == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(args.count)), dim3(kThreads)};
  return ForType(args.type, [&](auto tag) -> KernelStatus {
    constexpr ElementType kType = decltype(tag)::kType;
    if constexpr (kType == ElementType::kF32) {
      return KernelStatus::kUnsupportedType;
    } else {
      return Launch(DecodeRowsKernel<kType>, shape, stream, args, row_bytes);
    }
  });
}

}  // namespace minfer::kernels::cuda
