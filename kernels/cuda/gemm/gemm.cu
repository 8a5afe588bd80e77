// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/gemm/gemm.h"

#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"

namespace minfer::kernels::cuda {
namespace {

// A block computes 64 rows of x times 64 rows of weights, 32 of k at a time, both tiles in shared
// memory as f32 with k outermost; a thread owns 4 x 4 results. Bound by fma.
constexpr int kTile = 64;
constexpr int kDepth = 32;
constexpr int kPitch = kTile + 4;  // keeps 16-byte alignment and spreads the banks of the stores
constexpr int kThreads = 256;

// Rows [first, first + 64) and values [at, at + 32): thread t brings eight values of row t / 4.
template <typename Load>
__device__ __forceinline__ void FillTile(float (*tile)[kPitch], const Load& load) {
  const int row = threadIdx.x / 4;
  const int part = threadIdx.x % 4 * 8;
  float values[8];
  load(row, part, values);
#pragma unroll
  for (int v = 0; v < 8; ++v) tile[part + v][row] = values[v];
}

// The products of a tile are summed apart and then added: the error grows with the number of tiles,
// not of values.
template <typename Sum>
__device__ __forceinline__ void Multiply(const float (*xs)[kPitch], const float (*ws)[kPitch],
                                         int x0, int w0, Sum (*sums)[4]) {
  Sum parts[4][4] = {};
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    const float4 a = *reinterpret_cast<const float4*>(&xs[d][x0]);
    const float4 b = *reinterpret_cast<const float4*>(&ws[d][w0]);
    const float x[4] = {a.x, a.y, a.z, a.w};
    const float w[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        parts[i][j] = fma(static_cast<Sum>(x[i]), static_cast<Sum>(w[j]), parts[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] += parts[i][j];
  }
}

template <ElementType type, typename Sum>
__global__ void __launch_bounds__(kThreads) GemmKernel(GemmArgs args, int64_t weight_row_bytes) {
  alignas(16) __shared__ float xs[kDepth][kPitch];
  alignas(16) __shared__ float ws[kDepth][kPitch];
  const int64_t n0 = static_cast<int64_t>(blockIdx.x) * kTile;
  const int64_t m0 = static_cast<int64_t>(blockIdx.y) * kTile;
  const int x0 = threadIdx.x / 16 * 4;
  const int w0 = threadIdx.x % 16 * 4;
  Sum sums[4][4] = {};
  for (int64_t at = 0; at < args.k; at += kDepth) {
    FillTile(xs, [&](int row, int part, float* values) {
      const int64_t i = at + part;
      const float* x = args.x + (m0 + row) * args.k + i;
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        values[v] = m0 + row < args.m && i + v < args.k ? x[v] : 0.0f;
      }
    });
    FillTile(ws, [&](int row, int part, float* values) {
      const int64_t i = at + part;
      if (n0 + row < args.n && i < args.k) {
        const uint8_t* weights = static_cast<const uint8_t*>(args.weights);
        DecodeEight<type>(weights + (n0 + row) * weight_row_bytes, args.k, i, values);
      } else {
#pragma unroll
        for (int v = 0; v < 8; ++v) values[v] = 0.0f;
      }
    });
    __syncthreads();
    Multiply(xs, ws, x0, w0, sums);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int64_t m = m0 + x0 + i;
      const int64_t n = n0 + w0 + j;
      if (m >= args.m || n >= args.n) continue;
      const auto sum = static_cast<float>(sums[i][j]);
      args.out[m * args.out_stride + n] = args.bias == nullptr ? sum : sum + args.bias[n];
    }
  }
}

}  // namespace

KernelStatus Gemm(const GemmArgs& args, cudaStream_t stream) {
  if (args.m < 0 || args.n < 0 || args.k <= 0) return KernelStatus::kBadShape;
  if (args.m == 0 || args.n == 0) return KernelStatus::kOk;
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  const int64_t grid_x = CeilDiv(args.n, kTile);
  const int64_t grid_y = CeilDiv(args.m, kTile);
  if (row_bytes == 0 || grid_x > kMaxGridX || grid_y > kMaxGridYz) return KernelStatus::kBadShape;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y)),
                          dim3(kThreads)};
  return ForType(args.type, [&](auto tag) {
    constexpr ElementType kType = decltype(tag)::kType;
    return args.exact ? Launch(GemmKernel<kType, double>, shape, stream, args, row_bytes)
                      : Launch(GemmKernel<kType, float>, shape, stream, args, row_bytes);
  });
}

}  // namespace minfer::kernels::cuda
