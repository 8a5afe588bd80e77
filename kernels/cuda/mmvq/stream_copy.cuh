// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Work of the streamed MMVQ: what a launch is given, where an item's rows lie, and their way into
// shared memory.
#pragma once

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/mmvq/stream_tile.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kStreamRows = 16;
inline constexpr int kStreamItemWarps = 10;   // the most of an item
inline constexpr int kStreamBlockWarps = 16;  // the most of a block

struct StreamArgs {
  MmvqPart parts[kMmvqMaxParts];
  int first_item[kMmvqMaxParts];  // of each part; without a gate
  int n_parts;
  int items;
  int stages;    // of an item
  int warps;     // that share an item
  int group_of;  // 256 / warps, rounded up: a warp's group without a division
  int groups;    // of so many warps in a block, an item each
  int slots;     // of a warp's ring
  int buffers;   // for the sums of items of a group
  MmvqGate gate;
  int blocks;  // of 32 columns
  int64_t k;
  int64_t weight_row_bytes;
  const uint8_t* activations;
  int64_t activation_row_bytes;
  int rows;  // of activations
  bool residual;
  MmvqNorm norm;
  PlaneTarget planes;
};

template <ElementType type>
inline constexpr int kStageBytes = kStreamRows* StreamTile<type>::kRowBytes;

// Blocks first .. first + count of interleaved activations into shared memory, by all threads. The
// halves of columns 4 to 7 of each eight change places, so that the words of eight columns lie in
// 32 banks; blocks past the end are zeros.
template <int kColumns>
__device__ __forceinline__ void CopyActivations(const StreamArgs& args, uint8_t* to, int first,
                                                int count) {
  constexpr unsigned kChunks = kColumns * kInterleavedBytes / 16;  // of a block
  const unsigned present = static_cast<unsigned>(static_cast<int>(args.k / 32) - first) * kChunks;
  const uint8_t* from = args.activations + 16 * kChunks * static_cast<unsigned>(first);
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(count) * kChunks; i += blockDim.x) {
    const unsigned at = i % kChunks;
    const unsigned place = at < 2 * kColumns ? i ^ (at / 8 & 1) : i;
    const bool inside = i < present;
    CpAsync16(to + 16 * place, from + (inside ? 16 * i : 0), inside);
  }
}

// Where the rows of an item lie: the first eight and the others.
struct ItemRows {
  const uint8_t* low;
  const uint8_t* high;
  int last_low;  // rows past the last repeat it
  int last_high;
};

template <bool kGated>
__device__ __forceinline__ ItemRows FindItem(const StreamArgs& args, int item) {
  if constexpr (kGated) {
    const int64_t first = int64_t{item} * 8 * args.weight_row_bytes;
    const int last = static_cast<int>(args.parts[0].n) - 1 - item * 8;
    return {static_cast<const uint8_t*>(args.parts[0].weights) + first,
            static_cast<const uint8_t*>(args.parts[1].weights) + first, last, last};
  }
  int p = 0;
  while (p + 1 < args.n_parts && item >= args.first_item[p + 1]) ++p;
  const int first = (item - args.first_item[p]) * kStreamRows;
  const int last = static_cast<int>(args.parts[p].n) - 1 - first;
  const uint8_t* low =
      static_cast<const uint8_t*>(args.parts[p].weights) + int64_t{first} * args.weight_row_bytes;
  return {low, last < 8 ? low : low + 8 * args.weight_row_bytes, last, last < 8 ? last : last - 8};
}

// Copies stages of an item into a warp's ring. Four lanes take 64 bytes of a row at once, of eight
// rows; what is left of the rows, up to two chunks each, is copied together. Every address but that
// of a lane's first chunk is the same step for all lanes: little stands between the start of a
// kernel and its first bytes.
template <ElementType type>
struct Copier {
  using Tile = StreamTile<type>;
  static constexpr int kAll = kStreamRows * Tile::kChunks;
  static constexpr int kQuads = Tile::kChunks / 4;
  static constexpr int kRest = Tile::kChunks % 4;
  static_assert(kRest <= 2);
  int quad_at;  // of a lane's first chunk, in its eight rows
  int rest_at;
  bool last_whole;

  __device__ __forceinline__ void Prepare(const StreamArgs& args, int lane) {
    const auto row_bytes = static_cast<int>(args.weight_row_bytes);
    quad_at = lane / 4 * row_bytes + lane % 4 * 16;
    rest_at = 0;
    if constexpr (kRest != 0) rest_at = (lane / kRest & 7) * row_bytes + lane % kRest * 16;
    last_whole = args.stages * Tile::kStageValues <= static_cast<int>(args.k);
  }

  __device__ __forceinline__ void Copy(const StreamArgs& args, const ItemRows& rows, int stage,
                                       uint8_t* slot, int lane) const {
    if (rows.last_low < 7 || rows.last_high < 7) {
      CopyPart(args, rows, stage, slot, lane);
    } else if (stage + 1 < args.stages || last_whole) {
      CopyRows<true>(args, rows, stage, slot, lane);
    } else {
      CopyRows<false>(args, rows, stage, slot, lane);
    }
  }

  // A warp's part of what several copy together.
  __device__ __forceinline__ void CopyShare(const StreamArgs& args, const ItemRows& rows, int stage,
                                            uint8_t* slot, int lane, int sharer,
                                            int sharers) const {
    if (rows.last_low < 7 || rows.last_high < 7) {
      if (sharer == 0) CopyPart(args, rows, stage, slot, lane);
      return;
    }
#pragma unroll 1
    for (int j = sharer; j < kQuads; j += sharers) CopyQuad(args, rows, stage, slot, lane, j);
    if (kRest != 0 && sharer == sharers - 1) CopyRest<false>(args, rows, stage, slot, lane);
  }

  template <bool kWhole = false>
  __device__ __forceinline__ void CopyQuad(const StreamArgs& args, const ItemRows& rows, int stage,
                                           uint8_t* slot, int lane, int j) const {
    uint8_t* to = slot + lane / 4 * Tile::kRowBytes + lane % 4 * 16 + 64 * j;
    const bool inside = kWhole || Tile::Inside(stage, 4 * j + lane % 4, args.k);
    const int at = inside ? Tile::Place(4 * j, args.k) + stage * Tile::Stride(4 * j) : 0;
    CpAsync16(to, rows.low + quad_at + at, inside);
    CpAsync16(to + 8 * Tile::kRowBytes, rows.high + quad_at + at, inside);
  }

  // The chunks after those of four.
  template <bool kWhole>
  __device__ __forceinline__ void CopyRest(const StreamArgs& args, const ItemRows& rows, int stage,
                                           uint8_t* slot, int lane) const {
    if constexpr (kRest != 0) {
      const int row = lane / kRest;
      if (row >= kStreamRows) return;
      constexpr int kFirst = 4 * kQuads;
      const bool inside = kWhole || Tile::Inside(stage, kFirst + lane % kRest, args.k);
      const int at = inside ? Tile::Place(kFirst, args.k) + stage * Tile::Stride(kFirst) : 0;
      const uint8_t* from = (row < 8 ? rows.low : rows.high) + rest_at;
      CpAsync16(slot + row * Tile::kRowBytes + 16 * kFirst + lane % kRest * 16, from + at, inside);
    }
  }

  // Sixteen rows that there are; chunks past the end of the last stage are zeros.
  template <bool kWhole>
  __device__ __forceinline__ void CopyRows(const StreamArgs& args, const ItemRows& rows, int stage,
                                           uint8_t* slot, int lane) const {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) CopyQuad<kWhole>(args, rows, stage, slot, lane, j);
    CopyRest<kWhole>(args, rows, stage, slot, lane);
  }

  // Rows past the last repeat it, chunks past the end are zeros.
  __device__ void CopyPart(const StreamArgs& args, const ItemRows& rows, int stage, uint8_t* slot,
                           int lane) const {
#pragma unroll 1
    for (int id = lane; id < kAll; id += kWarp) {
      const int row = id / Tile::kChunks;
      const int chunk = id % Tile::kChunks;
      const bool high = row >= 8;
      const int r = min(row & 7, high ? rows.last_high : rows.last_low);
      const uint8_t* from = (high ? rows.high : rows.low) + r * args.weight_row_bytes;
      const bool inside = Tile::Inside(stage, chunk, args.k);
      const int at = Tile::Place(chunk, args.k) + stage * Tile::Stride(chunk);
      CpAsync16(slot + row * Tile::kRowBytes + chunk * 16, from + (inside ? at : 0), inside);
    }
  }
};

}  // namespace minfer::kernels::cuda
