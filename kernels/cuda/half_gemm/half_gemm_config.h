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

// Scratch for sums over parts of k; a split that would need more is not taken.
inline constexpr int kHalfMaxSplits = 4;
inline constexpr uint64_t kHalfPartialBytes = uint64_t{48} << 20;

__host__ __device__ constexpr int64_t PartialStride(int64_t columns) {
  return (columns + 7) / 8 * 8;
}

// Which kernel, by its tile: half_gemm's two and that of hopper_gemm, 128 x 256.
enum class HalfFamily : int32_t { kSquare, kWide, kHopper };

struct HalfPlan {
  HalfFamily family = HalfFamily::kSquare;
  int splits = 1;  // of k
};

// What decides, in us as an H200 takes them (tests/bench/README.md): a step of 64 of k with a
// multiprocessor full, what filling and storing a tile adds, and a launch.
struct HalfCost {
  HalfFamily family;
  int columns;
  int blocks;  // a multiprocessor
  int shared_bytes;
  double step;
  double step_alone;  // where a multiprocessor has one block only
  double tile;
  double launch;
};

inline constexpr HalfCost kHalfCosts[] = {
    {HalfFamily::kSquare, HalfTileSquare::kColumns, 2, HalfTileSquare::kSharedBytes, 1.22, 0.93,
     3.0, 0.0},
    {HalfFamily::kWide, HalfTileWide::kColumns, 1, HalfTileWide::kSharedBytes, 1.3, 1.3, 4.0, 0.0},
    {HalfFamily::kHopper, 256, 1, 0, 0.95, 0.95, 4.0, 4.0},
};
// Adding the parts of k: a launch, and the bytes that one us moves.
inline constexpr double kHalfReduceLaunch = 3.0;
inline constexpr double kHalfReduceBytes = 2.5e6;

// The fastest of half_gemm's tiles (mma), of hopper_gemm's, or of all.
inline HalfPlan PlanHalfGemm(int64_t m, int64_t columns, int64_t k, int32_t multiprocessors,
                             int32_t shared_bytes, uint64_t partial_bytes, bool mma, bool hopper) {
  HalfPlan best;
  double best_time = 0.0;
  const int64_t steps = (k + kHalfDepth - 1) / kHalfDepth;
  const int64_t slots = std::max(1, multiprocessors);
  for (const HalfCost& cost : kHalfCosts) {
    if (cost.family == HalfFamily::kHopper ? !hopper : !mma || cost.shared_bytes > shared_bytes) {
      continue;
    }
    const int64_t tiles = ((m + 127) / 128) * ((columns + cost.columns - 1) / cost.columns);
    for (int splits = 1; splits <= kHalfMaxSplits; ++splits) {
      const int64_t steps_each = (steps + splits - 1) / splits;
      const auto needs = static_cast<uint64_t>(splits * m * PartialStride(columns)) * 4;
      if (splits > 1 && (steps_each < 3 || needs > partial_bytes)) break;
      const int64_t blocks = tiles * splits;
      const int64_t waves = (blocks + slots * cost.blocks - 1) / (slots * cost.blocks);
      const double step = blocks <= slots ? cost.step_alone : cost.step;
      double time = cost.launch + static_cast<double>(waves) *
                                      (static_cast<double>(steps_each) * step + cost.tile);
      if (splits > 1) {
        const double moved = static_cast<double>(m * columns) * 4.0 * (splits + 1);
        time += kHalfReduceLaunch + moved / kHalfReduceBytes;
      }
      if (best_time == 0.0 || time < best_time) {
        best = {cost.family, splits};
        best_time = time;
      }
    }
  }
  return best;
}

}  // namespace minfer::kernels::cuda
