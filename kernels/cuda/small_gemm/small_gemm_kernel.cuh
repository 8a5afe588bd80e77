// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The body of small_gemm. A block has kTiles * 16 rows of weights and all rows of activations,
// kColumns of eight; its eight warps take 64 of k in turn, and their sums are added at the end.
//
//   weights      the A operand, from memory to registers: a lane reads 16 bytes of a row, eight
//   values
//                of k, which are two pairs of words of an mma; k is permuted inside 32, and the
//                activations the same way, so nothing is moved between lanes
//   activations  the B operand, read alike; neighbouring blocks find them in the L2
//
// Bound by memory: a warp has 64 * kTiles * 32 bytes of weights in flight. Nothing that a row's
// sums depend on follows the number of rows.
#pragma once

#include <cuda_bf16.h>

#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/small_gemm/small_gemm.h"

namespace minfer::kernels::cuda {

inline constexpr int kSmallThreads = 256;
inline constexpr int kSmallWarps = kSmallThreads / kWarp;
inline constexpr int kSmallDepth = 64;  // of k a turn of a warp

// Two bfloat16 as halves; what is larger than the largest half becomes it.
__device__ __forceinline__ uint32_t HalvesOf(uint32_t bfloats) {
  const __half2 both = __halves2half2(ClampedHalf(__uint_as_float(bfloats << 16)),
                                      ClampedHalf(__uint_as_float(bfloats & 0xffff0000u)));
  return *reinterpret_cast<const uint32_t*>(&both);
}

template <ElementType type>
__device__ __forceinline__ uint4 LoadWeights(const uint8_t* row, int64_t at, int64_t k) {
  uint4 words = make_uint4(0, 0, 0, 0);
  if (at < k) words = __ldg(reinterpret_cast<const uint4*>(row + 2 * at));
  if constexpr (type == ElementType::kBF16) {
    words = make_uint4(HalvesOf(words.x), HalvesOf(words.y), HalvesOf(words.z), HalvesOf(words.w));
  }
  return words;
}

template <ElementType type, int kTiles, int kColumns>
__global__ void __launch_bounds__(kSmallThreads)
    SmallGemmKernel(const __grid_constant__ SmallGemmArgs args, int64_t weight_row_bytes) {
  constexpr int kRows = 16 * kTiles;
  __shared__ float shared[kSmallWarps][8 * kColumns][kRows + 1];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int64_t r0 = int64_t{blockIdx.x} * kRows;
  // Past the end of a matrix, its last row once more; past the last row of activations likewise.
  const uint8_t* rows[2 * kTiles];
#pragma unroll
  for (int i = 0; i < 2 * kTiles; ++i) {
    const int64_t row = min(r0 + 8 * i + lane / 4, args.n - 1);
    rows[i] = static_cast<const uint8_t*>(args.weights) + row * weight_row_bytes;
  }
  const uint8_t* xs[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t row = min(int64_t{8 * c + lane / 4}, args.m - 1);
    xs[c] = static_cast<const uint8_t*>(args.x) + row * args.k * 2;
  }
  float sums[kTiles][kColumns][4] = {};
  for (int64_t at = int64_t{warp} * kSmallDepth; at < args.k; at += kSmallWarps * kSmallDepth) {
    uint4 w[2][2 * kTiles];
    uint4 x[2][kColumns];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t from = at + 32 * h + lane % 4 * 8;
#pragma unroll
      for (int i = 0; i < 2 * kTiles; ++i) w[h][i] = LoadWeights<type>(rows[i], from, args.k);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        x[h][c] = LoadWeights<ElementType::kF16>(xs[c], from, args.k);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        const uint4 low = w[h][2 * t], high = w[h][2 * t + 1];
        const uint32_t first[4] = {low.x, high.x, low.y, high.y};
        const uint32_t second[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const uint32_t b[4] = {x[h][c].x, x[h][c].y, x[h][c].z, x[h][c].w};
          MmaM16N8K16(first, b, sums[t][c]);
          MmaM16N8K16(second, b + 2, sums[t][c]);
        }
      }
    }
  }
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        shared[warp][8 * c + lane % 4 * 2 + e % 2][16 * t + lane / 4 + e / 2 * 8] = sums[t][c][e];
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * 8 * kColumns; i += kSmallThreads) {
    const int column = i / kRows;
    const int64_t row = r0 + i % kRows;
    if (column >= args.m || row >= args.n) continue;
    float sum = shared[0][column][i % kRows];
#pragma unroll
    for (int w = 1; w < kSmallWarps; ++w) sum += shared[w][column][i % kRows];
    args.out[column * args.out_stride + row] = args.bias == nullptr ? sum : sum + args.bias[row];
  }
}

}  // namespace minfer::kernels::cuda
