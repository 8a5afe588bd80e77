// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Tiles of half_gemm and the choice among them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace minfer::kernels::cuda {

// Halves of k a stage: 128 bytes a row, so that eight rows of an ldmatrix meet all banks when their
// 16-byte pieces are exchanged by the row's number (swizzled).
inline constexpr int kHalfDepth = 64;

template <int rows, int columns, int warps_m, int warps_n, int stages, int blocks>
struct HalfTile {
  static constexpr int kRows = rows;        // of x
  static constexpr int kColumns = columns;  // rows of w
  static constexpr int kWarpsM = warps_m;
  static constexpr int kWarpsN = warps_n;
  static constexpr int kThreads = 32 * warps_m * warps_n;
  static constexpr int kStages = stages;
  static constexpr int kBlocks = blocks;  // a multiprocessor
  static constexpr int kWarpRows = rows / warps_m;
  static constexpr int kWarpColumns = columns / warps_n;
  static constexpr int kStageBytes = (rows + columns) * kHalfDepth * 2;
  static constexpr int kSharedBytes = stages * kStageBytes;
  static constexpr int kSumPitch = kWarpColumns + 8;  // spreads the banks of float2 stores
  __host__ __device__ static constexpr int At(int row, int column) {
    return row * kSumPitch + column;
  }
  static_assert(warps_m * warps_n * kWarpRows * kSumPitch * 4 <= kSharedBytes);
};

// A warp of 64 x 64 results reads 4 KB of shared memory for 32 mma: the least that 255 registers
// allow, and what the shared memory can just deliver. Four stages cover the latency of memory.
using HalfTileWide = HalfTile<128, 256, 2, 4, 4, 1>;
// Half as wide for matrices with few tiles, and where a block may have less shared memory.
using HalfTileSquare = HalfTile<128, 128, 2, 2, 3, 2>;

struct HalfPlan {
  bool wide = false;
  int splits = 1;
};

// Scratch for sums over parts of k; a split that would need more is not taken.
inline constexpr int kHalfMaxSplits = 4;
inline constexpr uint64_t kHalfPartialBytes = uint64_t{48} << 20;

__host__ __device__ constexpr int64_t PartialStride(int64_t columns) {
  return (columns + 7) / 8 * 8;
}

// The tile and the split of k with the shortest time in units of k steps of a wide tile: waves of
// blocks times steps of each, some for filling the pipeline, and the sums that a split moves.
inline HalfPlan PlanHalfGemm(int64_t m, int64_t columns, int64_t k, int32_t multiprocessors,
                             int32_t shared_bytes, uint64_t partial_bytes) {
  constexpr double kFill = 6.0;
  HalfPlan best;
  double best_time = 0.0;
  const int64_t steps = (k + kHalfDepth - 1) / kHalfDepth;
  for (const bool wide : {true, false}) {
    const int64_t tile_columns = wide ? HalfTileWide::kColumns : HalfTileSquare::kColumns;
    const int needed = wide ? HalfTileWide::kSharedBytes : HalfTileSquare::kSharedBytes;
    if (needed > shared_bytes) continue;
    const int64_t tiles = ((m + 127) / 128) * ((columns + tile_columns - 1) / tile_columns);
    const int64_t slots = std::max(1, multiprocessors) * (wide ? 1 : 2);
    for (int splits = 1; splits <= kHalfMaxSplits; ++splits) {
      const int64_t steps_each = (steps + splits - 1) / splits;
      const uint64_t needs = static_cast<uint64_t>(splits * m * PartialStride(columns)) * 4;
      if (splits > 1 && (steps_each < 8 || needs > partial_bytes)) break;
      const int64_t waves = (tiles * splits + slots - 1) / slots;
      double time = static_cast<double>(waves) * (static_cast<double>(steps_each) + kFill);
      // Two square tiles at once take a little longer than a wide one.
      if (!wide) time *= 1.06;
      // f32 sums written and read, about 3 steps of all multiprocessors a MB and split.
      if (splits > 1) {
        time += 3e-6 * static_cast<double>(m * columns) * splits + 6.0;
      }
      if (best_time == 0.0 || time < best_time) {
        best = {wide, splits};
        best_time = time;
      }
    }
  }
  return best;
}

// The same choice for hopper_gemm, which has one tile, 128 x 256, and one block a multiprocessor.
inline int HopperSplits(int64_t m, int64_t columns, int64_t k, int32_t multiprocessors,
                        uint64_t partial_bytes) {
  constexpr double kFill = 4.0;
  const int64_t steps = (k + kHalfDepth - 1) / kHalfDepth;
  const int64_t tiles = ((m + 127) / 128) * ((columns + 255) / 256);
  const int64_t slots = std::max(1, multiprocessors);
  int best = 1;
  double best_time = 0.0;
  for (int splits = 1; splits <= kHalfMaxSplits; ++splits) {
    const int64_t steps_each = (steps + splits - 1) / splits;
    const uint64_t needs = static_cast<uint64_t>(splits * m * PartialStride(columns)) * 4;
    if (splits > 1 && (steps_each < 8 || needs > partial_bytes)) break;
    const int64_t waves = (tiles * splits + slots - 1) / slots;
    double time = static_cast<double>(waves) * (static_cast<double>(steps_each) + kFill);
    if (splits > 1) time += 4e-6 * static_cast<double>(m * columns) * splits + 6.0;
    if (best_time == 0.0 || time < best_time) {
      best = splits;
      best_time = time;
    }
  }
  return best;
}

}  // namespace minfer::kernels::cuda
