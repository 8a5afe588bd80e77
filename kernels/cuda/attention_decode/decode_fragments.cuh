// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Sixteen cells of K and V, as the store has them, become fragments of mma: columns are permuted,
// alike on both sides of a product, so that what a lane needs of a cell lies together.
#pragma once

#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {

// Where 16 bytes of a cell lie in a warp's room, in units of 16 bytes: permuted, where a cell has
// whole eights of them, so that lanes which read together meet no bank twice.
template <int kDim>
__device__ __forceinline__ int CellPiece(int cell, int piece) {
  constexpr int kPieces = kDim / 8;
  return cell * kPieces + (kPieces % 8 == 0 ? piece ^ (cell & 6) ^ (cell & 1) << 2 : piece);
}

// A cell in a warp's room, and one that lies as the store has it.
template <int kDim>
struct SharedCell {
  const uint4* room;
  int cell;

  template <typename T>
  __device__ __forceinline__ T Read(int column) const {
    const auto* piece = reinterpret_cast<const __half*>(room + CellPiece<kDim>(cell, column / 8));
    return *reinterpret_cast<const T*>(piece + column % 8);
  }
};
struct PlainCell {
  const __half* cell;

  template <typename T>
  __device__ __forceinline__ T Read(int column) const {
    return *reinterpret_cast<const T*>(cell + column);
  }
};

// Sixteen cells of K as fragments of B: eight cells a tile, 32 columns of a cell 16 bytes a lane.
template <int kDim>
struct KeyFragments {
  static constexpr int kCells = 2;  // of a lane
  static constexpr int kWide = kDim / 32;
  static constexpr bool kNarrow = kDim % 32 != 0;
  uint4 wide[kCells][kWide > 0 ? kWide : 1];
  uint2 narrow[kCells];

  // Which of the sixteen a lane's cell is, as that of a tile.
  static __device__ __forceinline__ int Cell(int tile) {
    return 8 * tile + static_cast<int>(threadIdx.x) % kWarp / 4;
  }
  template <typename Cell>
  __device__ __forceinline__ void LoadCell(const Cell& cell, int tile, bool seen) {
    const int part = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      wide[tile][j] = seen ? cell.template Read<uint4>(32 * j + 8 * part) : make_uint4(0, 0, 0, 0);
    }
    if constexpr (kNarrow) {
      narrow[tile] = seen ? cell.template Read<uint2>(32 * kWide + 4 * part) : make_uint2(0, 0);
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

// Sixteen cells of V: a lane has columns of its group of four cells, in pieces of 64 columns, 32
// and 16.
template <int kDim>
struct ValueFragments {
  static constexpr int kCells = 4;          // of a lane
  static constexpr int kWords = kDim / 16;  // of a cell, two columns each
  uint32_t words[kCells][kWords];

  // Which of the sixteen a lane's cell is: pairs of neighbours, as fragments want them.
  static __device__ __forceinline__ int Cell(int i) {
    return static_cast<int>(threadIdx.x) % 4 * 2 + i % 2 + i / 2 * 8;
  }
  template <typename Cell>
  __device__ __forceinline__ void LoadCell(const Cell& cell, int i, bool seen) {
    const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int p = 0; p < kDim / 64; ++p) {
      const uint4 four =
          seen ? cell.template Read<uint4>(64 * p + 8 * group) : make_uint4(0, 0, 0, 0);
      words[i][4 * p] = four.x;
      words[i][4 * p + 1] = four.y;
      words[i][4 * p + 2] = four.z;
      words[i][4 * p + 3] = four.w;
    }
    if constexpr (kDim % 64 >= 32) {
      constexpr int kAt = kDim / 64 * 64;
      const uint2 two = seen ? cell.template Read<uint2>(kAt + 4 * group) : make_uint2(0, 0);
      words[i][kAt / 16] = two.x;
      words[i][kAt / 16 + 1] = two.y;
    }
    if constexpr (kDim % 32 != 0) {
      constexpr int kAt = kDim / 32 * 32;
      words[i][kAt / 16] = seen ? cell.template Read<uint32_t>(kAt + 2 * group) : 0u;
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

// Where a warp's register `r` of its sums lies among those of all lanes: lanes that read four
// columns each meet no bank twice.
__device__ __forceinline__ int SumLane(int r, int lane) { return lane ^ (r >> 3 & 3); }

// Where a head's column lies in the sums of a warp, as ValueFragments permutes them, in floats.
template <int kDim>
__device__ __forceinline__ int FindSum(int head, int d) {
  int word = 0;
  int group = 0;
  if (d < kDim / 64 * 64) {
    word = d / 64 * 4 + d % 8 / 2;
    group = d % 64 / 8;
  } else if (d < kDim / 32 * 32) {
    word = kDim / 64 * 4 + d % 4 / 2;
    group = d % 32 / 4;
  } else {
    word = kDim / 32 * 2;
    group = d % 16 / 2;
  }
  const int r = 4 * word + d % 2 * 2 + head % 2;
  return r * kWarp + SumLane(r, 4 * group + head / 2);
}

}  // namespace minfer::kernels::cuda
