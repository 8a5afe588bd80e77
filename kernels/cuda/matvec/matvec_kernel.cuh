// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The body of the float product: a warp a row of the matrix, its lanes take eight values in turn.
#pragma once

#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/matvec/matvec.h"

namespace minfer::kernels::cuda {

inline constexpr int kMatvecThreads = 128;
inline constexpr int kMatvecWarps = kMatvecThreads / kWarp;

template <ElementType type, int kRows>
__global__ void __launch_bounds__(kMatvecThreads)
    MatvecKernel(MatvecArgs args, int64_t weight_row_bytes) {
  const int lane = threadIdx.x % kWarp;
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kMatvecWarps + threadIdx.x / kWarp;
  if (r >= args.n) return;
  const uint8_t* row = static_cast<const uint8_t*>(args.weights) + r * weight_row_bytes;
  float sums[kRows];
#pragma unroll
  for (int m = 0; m < kRows; ++m) sums[m] = 0.0f;
  for (int64_t i = 8 * lane; i < args.k; i += 8 * kWarp) {
    float w[8];
    DecodeEight<type>(row, args.k, i, w);
    const int count = static_cast<int>(args.k - i < 8 ? args.k - i : 8);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      if (m >= args.m) break;
      const float* x = args.x + m * args.k + i;
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        if (v < count) sums[m] = fmaf(w[v], x[v], sums[m]);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    const float sum = WarpSum(sums[m]);
    if (lane != 0 || m >= args.m) continue;
    args.out[m * args.out_stride + r] = args.bias == nullptr ? sum : sum + args.bias[r];
  }
}

template <ElementType type>
KernelStatus LaunchMatvec(const MatvecArgs& args, cudaStream_t stream) {
  const int64_t grid = CeilDiv(args.n, kMatvecWarps);
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid)), dim3(kMatvecThreads)};
  const int64_t row_bytes = WeightRowBytes(type, args.k);
  if (row_bytes == 0) return KernelStatus::kBadShape;
  if (args.m == 1) return Launch(MatvecKernel<type, 1>, shape, stream, args, row_bytes);
  return Launch(MatvecKernel<type, kMatvecMaxRows>, shape, stream, args, row_bytes);
}

}  // namespace minfer::kernels::cuda
