// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The body of MMVQ. A warp computes one row of the matrix for all rows of activations; its lanes
// take units of 32 weights in turn. A unit is loaded once (16 to 36 bytes in registers) and
// multiplied with each row. Bound by the bytes of the weights; the activations come from the L1.
//
// Unit<type>: Load(row, k, u) reads unit u; Dot(quants, heads, u) multiplies it with one row of
// activations, whose int8 values and (scale, sum) pairs the pointers give.
#pragma once

#include <algorithm>

#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmvqThreads = 128;
inline constexpr int kMmvqWarps = kMmvqThreads / kWarp;

__device__ __forceinline__ int Dot16(const uint32_t* w, int4 a) {
  int sum = __dp4a(static_cast<int>(w[0]), a.x, 0);
  sum = __dp4a(static_cast<int>(w[1]), a.y, sum);
  sum = __dp4a(static_cast<int>(w[2]), a.z, sum);
  return __dp4a(static_cast<int>(w[3]), a.w, sum);
}

__device__ __forceinline__ int4 Int4At(const void* p) { return *static_cast<const int4*>(p); }

__device__ __forceinline__ void StoreInt4(int4 from, uint32_t* to) {
  to[0] = static_cast<uint32_t>(from.x);
  to[1] = static_cast<uint32_t>(from.y);
  to[2] = static_cast<uint32_t>(from.z);
  to[3] = static_cast<uint32_t>(from.w);
}

template <ElementType type>
struct Unit;

struct MmvqKernelArgs {
  const uint8_t* weights;
  int64_t n;
  int64_t k;
  int64_t weight_row_bytes;
  const uint8_t* activations;
  int64_t activation_row_bytes;
  int rows;  // of activations
  bool residual;
  const float* bias;
  float* out;
  int64_t out_stride;
};

template <ElementType type, int kRows>
__global__ void __launch_bounds__(kMmvqThreads) MmvqKernel(MmvqKernelArgs args) {
  const int lane = threadIdx.x % kWarp;
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kMmvqWarps + threadIdx.x / kWarp;
  if (r >= args.n) return;
  const uint8_t* row = args.weights + r * args.weight_row_bytes;
  float sums[kRows];
#pragma unroll
  for (int m = 0; m < kRows; ++m) sums[m] = 0.0f;
  const int units = static_cast<int>(args.k / 32);
  for (int u = lane; u < units; u += kWarp) {
    Unit<type> unit;
    unit.Load(row, args.k, u);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      if (m >= args.rows) break;
      const uint8_t* quants = args.activations + m * args.activation_row_bytes;
      const auto* heads = reinterpret_cast<const float2*>(quants + args.k);
      sums[m] += unit.Dot(reinterpret_cast<const int8_t*>(quants), heads, u);
    }
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m) sums[m] = WarpSum(sums[m]);
  if (lane != 0) return;
  const float bias = args.bias == nullptr ? 0.0f : args.bias[r];
  const int step = args.residual ? 2 : 1;
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    if (m >= args.rows || m % step != 0) continue;
    float value = sums[m];
    if (args.residual && m + 1 < kRows) value += sums[m + 1];
    if (args.bias != nullptr) value += bias;
    args.out[m / step * args.out_stride + r] = value;
  }
}

template <ElementType type>
KernelStatus LaunchMmvq(const MmvqKernelArgs& args, cudaStream_t stream) {
  const int64_t grid = CeilDiv(args.n, kMmvqWarps);
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid)), dim3(kMmvqThreads)};
  if (args.rows == 1) return Launch(MmvqKernel<type, 1>, shape, stream, args);
  if (args.rows == 2) return Launch(MmvqKernel<type, 2>, shape, stream, args);
  if (args.rows <= 4) return Launch(MmvqKernel<type, 4>, shape, stream, args);
  return Launch(MmvqKernel<type, 8>, shape, stream, args);
}

// In parts of at most eight rows of activations.
template <ElementType type>
KernelStatus RunMmvq(const MmvqArgs& args, int64_t weight_row_bytes, int64_t block,
                     cudaStream_t stream) {
  if (args.k % block != 0) return KernelStatus::kBadShape;
  const int per_row = args.residual ? 2 : 1;
  const int64_t row_bytes = QuantizedRowBytes(args.k);
  const int64_t part = kMmvqMaxRows / per_row;
  for (int64_t first = 0; first < args.m; first += part) {
    MmvqKernelArgs kernel;
    kernel.weights = static_cast<const uint8_t*>(args.weights);
    kernel.n = args.n;
    kernel.k = args.k;
    kernel.weight_row_bytes = weight_row_bytes;
    kernel.activations =
        static_cast<const uint8_t*>(args.activations) + first * per_row * row_bytes;
    kernel.activation_row_bytes = row_bytes;
    kernel.rows = static_cast<int>(std::min(part, args.m - first)) * per_row;
    kernel.residual = args.residual;
    kernel.bias = args.bias;
    kernel.out = args.out + first * args.out_stride;
    kernel.out_stride = args.out_stride;
    const KernelStatus status = LaunchMmvq<type>(kernel, stream);
    if (status != KernelStatus::kOk) return status;
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::cuda
