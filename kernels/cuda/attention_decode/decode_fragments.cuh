// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Sixteen cells of K and V, straight from the store to fragments of mma: columns are permuted,
// alike on both sides of a product, so that what a lane needs of a cell lies together.
#pragma once

#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {

// Sixteen cells of K as fragments of B: eight cells a tile, 32 columns of a cell 16 bytes a lane.
template <int kDim>
struct KeyFragments {
  static constexpr int kWide = kDim / 32;
  static constexpr bool kNarrow = kDim % 32 != 0;
  uint4 wide[2][kWide > 0 ? kWide : 1];
  uint2 narrow[2];

  __device__ __forceinline__ void LoadCell(const __half* cell, int tile, bool seen) {
    const int part = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      wide[tile][j] =
          seen ? *reinterpret_cast<const uint4*>(cell + 32 * j + 8 * part) : make_uint4(0, 0, 0, 0);
    }
    if constexpr (kNarrow) {
      narrow[tile] =
          seen ? *reinterpret_cast<const uint2*>(cell + 32 * kWide + 4 * part) : make_uint2(0, 0);
    }
  }
  // scores = queries times K, of both tiles.
  __device__ __forceinline__ void Multiply(const uint4 (*queries)[kWarp],
                                           float (*scores)[4]) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const auto step = [&](int s, uint32_t first0, uint32_t first1, uint32_t second0,
                          uint32_t second1) {
      const uint4 q = queries[s][lane];
      const uint32_t a[4] = {q.x, q.y, q.z, q.w};
      const uint32_t b0[2] = {first0, first1};
      const uint32_t b1[2] = {second0, second1};
      MmaM16N8K16(a, b0, scores[0]);
      MmaM16N8K16(a, b1, scores[1]);
    };
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      step(2 * j, wide[0][j].x, wide[0][j].y, wide[1][j].x, wide[1][j].y);
      step(2 * j + 1, wide[0][j].z, wide[0][j].w, wide[1][j].z, wide[1][j].w);
    }
    if constexpr (kNarrow) {
      step(2 * kWide, narrow[0].x, narrow[0].y, narrow[1].x, narrow[1].y);
    }
  }
};

// Cell i of the four that a lane has of V: pairs of neighbours, as fragments want them.
__device__ __forceinline__ int ValueCell(int i) {
  return static_cast<int>(threadIdx.x) % 4 * 2 + i % 2 + i / 2 * 8;
}

// Sixteen cells of V: a lane has columns of its group of four cells, in pieces of 64 columns, 32
// and 16.
template <int kDim>
struct ValueFragments {
  static constexpr int kWords = kDim / 16;  // of a cell, two columns each
  uint32_t words[4][kWords];

  __device__ __forceinline__ void LoadCell(const __half* cell, int i, bool seen) {
    const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int p = 0; p < kDim / 64; ++p) {
      const uint4 four = seen ? *reinterpret_cast<const uint4*>(cell + 64 * p + 8 * group)
                              : make_uint4(0, 0, 0, 0);
      words[i][4 * p] = four.x;
      words[i][4 * p + 1] = four.y;
      words[i][4 * p + 2] = four.z;
      words[i][4 * p + 3] = four.w;
    }
    if constexpr (kDim % 64 >= 32) {
      constexpr int kAt = kDim / 64 * 64;
      const uint2 two =
          seen ? *reinterpret_cast<const uint2*>(cell + kAt + 4 * group) : make_uint2(0, 0);
      words[i][kAt / 16] = two.x;
      words[i][kAt / 16 + 1] = two.y;
    }
    if constexpr (kDim % 32 != 0) {
      constexpr int kAt = kDim / 32 * 32;
      words[i][kAt / 16] = seen ? *reinterpret_cast<const uint32_t*>(cell + kAt + 2 * group) : 0u;
    }
  }
  // sums += V transposed times the weights, which are fragments of B.
  __device__ __forceinline__ void Multiply(const uint32_t* high, const uint32_t* rest,
                                           float (*sums)[4]) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t a[4] = {__byte_perm(words[0][w], words[1][w], 0x5410),
                             __byte_perm(words[0][w], words[1][w], 0x7632),
                             __byte_perm(words[2][w], words[3][w], 0x5410),
                             __byte_perm(words[2][w], words[3][w], 0x7632)};
      MmaM16N8K16(a, high, sums[w]);
      MmaM16N8K16(a, rest, sums[w]);
    }
  }
};

// The column of register `r` of a lane's sums, as ValueFragments permutes them.
template <int kDim>
__device__ __forceinline__ int ColumnOf(int r, int group) {
  const int word = r / 4;
  const int odd = r % 4 / 2;
  if (word < kDim / 64 * 4) return word / 4 * 64 + 8 * group + word % 4 * 2 + odd;
  if (word < kDim / 32 * 2) return kDim / 64 * 64 + 4 * group + word % 2 * 2 + odd;
  return kDim / 32 * 32 + 2 * group + odd;
}

// Where a head's column lies in shared memory: lanes that write or read together meet no bank
// twice.
template <int kDim>
__device__ __forceinline__ int DecodeColumn(int head, int d) {
  return head * kDim + (kDim % 32 == 0 ? d ^ (head >> 1 & 3) ^ (d >> 5 & 1) << 2 : d);
}

}  // namespace minfer::kernels::cuda
