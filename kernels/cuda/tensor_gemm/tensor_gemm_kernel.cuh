// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes 128 rows of x times 128 rows of weights, 32 of k at a time. 256 threads: warps
// 2 x 4, each 64 x 32 results in 4 x 4 tiles of mma. Two stages in shared memory, each 128 x 32
// halves of x (by cp.async) and of weights (decoded in registers while the stage before is
// multiplied); rows are 80 bytes apart, so that the eight rows of an ldmatrix meet all banks.
// Bound by the tensor cores for many rows, by the decoding for few.
#pragma once

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/arch/ldmatrix.cuh"
#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

namespace minfer::kernels::cuda {

inline constexpr int kTensorTile = 128;
inline constexpr int kTensorDepth = 32;
inline constexpr int kTensorPitch = kTensorDepth + 8;
inline constexpr int kTensorThreads = 256;

struct TensorStage {
  alignas(16) __half x[kTensorTile][kTensorPitch];
  alignas(16) __half w[kTensorTile][kTensorPitch];
};

// Sixteen weights of one row, as halves.
struct DecodedPart {
  alignas(16) __half2 values[8];
};

// Thread t brings values 16 (t % 2) .. of row t / 2 of the tile that starts at (n0, at).
template <ElementType type>
__device__ __forceinline__ DecodedPart DecodePart(const TensorGemmArgs& args, int64_t row_bytes,
                                                  int64_t n0, int64_t at) {
  DecodedPart part;
  const int64_t row = n0 + threadIdx.x / 2;
  const int64_t i = at + threadIdx.x % 2 * 16;
  const bool inside = row < args.n && i < args.k;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float values[8] = {};
    if (inside) {
      DecodeEight<type>(static_cast<const uint8_t*>(args.weights) + row * row_bytes, args.k,
                        i + 8 * half, values);
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      part.values[4 * half + v] = __floats2half2_rn(values[2 * v], values[2 * v + 1]);
    }
  }
  return part;
}

__device__ __forceinline__ void StorePart(const DecodedPart& part, TensorStage* stage) {
  auto* to = reinterpret_cast<int4*>(&stage->w[threadIdx.x / 2][threadIdx.x % 2 * 16]);
  const auto* from = reinterpret_cast<const int4*>(part.values);
  to[0] = from[0];
  to[1] = from[1];
}

__device__ __forceinline__ void CopyRows(const TensorGemmArgs& args, int64_t m0, int64_t at,
                                         TensorStage* stage) {
  const int row = threadIdx.x / 2;
  const int column = threadIdx.x % 2 * 16;
  const bool inside = m0 + row < args.m && at < args.k;
  // Outside, an address that is valid anyway; it is not read.
  const auto* from = static_cast<const __half*>(args.x) +
                     (inside ? (m0 + row) * args.k + at + column : int64_t{0});
  CpAsync16(&stage->x[row][column], from, inside);
  CpAsync16(&stage->x[row][column + 8], from + (inside ? 8 : 0), inside);
}

__device__ __forceinline__ void MultiplyStage(const TensorStage& stage, int m, int n,
                                              float (*sums)[4][4]) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int k = 0; k < kTensorDepth; k += 16) {
    uint32_t a[4][4];
    uint32_t b[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      LdMatrix4(&stage.x[m + 16 * i + lane % 16][k + lane / 16 * 8], a[i]);
    }
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      // Two tiles of eight columns: lanes 0..15 the first, 16..31 the second.
      LdMatrix4(&stage.w[n + 8 * j + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8], b[j]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) MmaM16N8K16(a[i], b[j], sums[i][j]);
    }
  }
}

template <ElementType type>
__global__ void __launch_bounds__(kTensorThreads, 2)
    TensorGemmKernel(TensorGemmArgs args, int64_t row_bytes) {
  __shared__ TensorStage stages[2];
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * kTensorTile;
  const int64_t n0 = static_cast<int64_t>(blockIdx.y) * kTensorTile;
  const int warp = threadIdx.x / kWarp;
  const int m = warp / 4 * 64;
  const int n = warp % 4 * 32;
  float sums[4][4][4] = {};
  CopyRows(args, m0, 0, &stages[0]);
  CpAsyncCommit();
  StorePart(DecodePart<type>(args, row_bytes, n0, 0), &stages[0]);
  CpAsyncWait<0>();
  __syncthreads();
  int current = 0;
  for (int64_t at = 0; at < args.k; at += kTensorDepth) {
    const bool more = at + kTensorDepth < args.k;
    DecodedPart part;
    if (more) {
      CopyRows(args, m0, at + kTensorDepth, &stages[current ^ 1]);
      CpAsyncCommit();
      part = DecodePart<type>(args, row_bytes, n0, at + kTensorDepth);
    }
    MultiplyStage(stages[current], m, n, sums);
    if (more) {
      StorePart(part, &stages[current ^ 1]);
      CpAsyncWait<0>();
    }
    __syncthreads();
    current ^= 1;
  }
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t row = m0 + m + 16 * i + lane / 4 + (e < 2 ? 0 : 8);
        const int64_t column = n0 + n + 8 * j + lane % 4 * 2 + e % 2;
        if (row >= args.m || column >= args.n) continue;
        const float sum = sums[i][j][e];
        args.out[row * args.out_stride + column] =
            args.bias == nullptr ? sum : sum + args.bias[column];
      }
    }
  }
}

}  // namespace minfer::kernels::cuda
