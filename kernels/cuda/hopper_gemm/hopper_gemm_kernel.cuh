// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes tiles of 128 rows of x times 256 rows of w, one after another. 384 threads: one
// thread of the first warpgroup fills a ring by tensor copies, the two others multiply, 64 x 256
// results each in 128 registers a thread.
//
//   ring     four stages of 64 of k: 128 rows of x, 256 rows of w, 128 bytes a row, exchanged as
//            wgmma wants it; it runs on while results are stored
//   full     a barrier a stage, counts the bytes; empty: one arrival a multiplying warpgroup
//   results  by way of 4 KB a warp beside the ring, so that whole lines are stored
//
// Rows outside of the matrices are zeros by the tensor copy and never stored. Bound by the tensor
// cores.
#pragma once

#include "kernels/cuda/arch/mbarrier.cuh"
#include "kernels/cuda/arch/wgmma_m64n256k16.cuh"
#include "kernels/cuda/half_gemm/half_gemm_kernel.cuh"
#include "kernels/cuda/hopper_gemm/hopper_gemm.h"

namespace minfer::kernels::cuda {

inline constexpr int kHopperRows = 128;
inline constexpr int kHopperColumns = 256;
inline constexpr int kHopperStages = 4;
inline constexpr int kHopperThreads = 384;
inline constexpr int kHopperXBytes = kHopperRows * kHalfDepth * 2;
inline constexpr int kHopperStageBytes = (kHopperRows + kHopperColumns) * kHalfDepth * 2;

// What a warp stores at once: 16 rows, 64 columns.
struct HopperWarpTile {
  static constexpr int kWarpRows = 16;
  static constexpr int kWarpColumns = 64;
  // Exchanged by the row, so that stores of float2 meet all banks.
  __host__ __device__ static constexpr int At(int row, int column) {
    return row * kWarpColumns + (column ^ (row % 4 * 8));
  }
};
inline constexpr int kHopperWarpFloats = HopperWarpTile::kWarpRows * HopperWarpTile::kWarpColumns;
// The ring starts at a multiple of 1,024 bytes.
inline constexpr int kHopperSharedBytes =
    1024 + kHopperStages * kHopperStageBytes + 8 * kHopperWarpFloats * 4 + kHopperStages * 16;
static_assert(kHopperSharedBytes <= 227 << 10);

struct HopperGrid {
  int tiles_m;
  int tiles_n;
  int splits;
  int steps;       // of k, in all
  int steps_each;  // of one split
};

// Piece i of the work: tiles of the same columns are neighbours, so that w comes from memory once.
struct HopperTile {
  int m;
  int n;
  int split;
  int begin;
  int end;

  __device__ HopperTile(const HopperGrid& grid, int i) {
    m = i % grid.tiles_m;
    i /= grid.tiles_m;
    n = i % grid.tiles_n;
    split = i / grid.tiles_n;
    begin = split * grid.steps_each;
    end = min(begin + grid.steps_each, grid.steps);
  }
};

struct HopperRing {
  uint8_t* stages;
  uint64_t* full;
  uint64_t* empty;
  int slot = 0;
  uint32_t phase = 0;

  __device__ void Next() {
    if (++slot == kHopperStages) {
      slot = 0;
      phase ^= 1;
    }
  }
};

__device__ __forceinline__ void HopperFill(const CUtensorMap* x, const CUtensorMap* w,
                                           const HopperGrid& grid, HopperRing ring) {
  const int pieces = grid.tiles_m * grid.tiles_n * grid.splits;
  for (int i = blockIdx.x; i < pieces; i += gridDim.x) {
    const HopperTile tile(grid, i);
    for (int s = tile.begin; s < tile.end; ++s) {
      MbarrierWait(&ring.empty[ring.slot], ring.phase ^ 1);
      uint64_t* full = &ring.full[ring.slot];
      MbarrierArriveExpect(full, kHopperStageBytes);
      uint8_t* stage = ring.stages + ring.slot * kHopperStageBytes;
      TensorCopy2d(x, full, stage, s * kHalfDepth, tile.m * kHopperRows);
      TensorCopy2d(w, full, stage + kHopperXBytes, s * kHalfDepth, tile.n * kHopperColumns);
      ring.Next();
    }
  }
}

// The products of a tile for a warpgroup; the stage before is given back once the products that
// read it are done.
__device__ __forceinline__ void HopperMultiply(const HopperTile& tile, int group, HopperRing* ring,
                                               float* sums) {
  const bool leads = threadIdx.x % 128 == 0;
  int before = -1;
  for (int s = tile.begin; s < tile.end; ++s) {
    MbarrierWait(&ring->full[ring->slot], ring->phase);
    const uint8_t* stage = ring->stages + ring->slot * kHopperStageBytes;
    const uint64_t a = WgmmaMatrix(stage + group * 64 * 128);
    const uint64_t b = WgmmaMatrix(stage + kHopperXBytes);
    WgmmaFence();
#pragma unroll
    for (int k = 0; k < kHalfDepth / 16; ++k) {
      WgmmaM64N256K16(a + 2 * k, b + 2 * k, s > tile.begin || k > 0, sums);
    }
    WgmmaCommit();
    if (before >= 0) {
      WgmmaWait<1>();
      if (leads) MbarrierArrive(&ring->empty[before]);
    }
    before = ring->slot;
    ring->Next();
  }
  WgmmaWait<0>();
  if (leads) MbarrierArrive(&ring->empty[before]);
}

__global__ void __launch_bounds__(kHopperThreads, 1)
    HopperGemmKernel(const __grid_constant__ HalfGemmArgs args,
                     const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,
                     const HopperGrid grid) {
  extern __shared__ __align__(128) uint8_t shared[];
  HopperRing ring;
  ring.stages = shared + (1024 - SharedAddress(shared) % 1024) % 1024;
  auto* results = reinterpret_cast<float*>(ring.stages + kHopperStages * kHopperStageBytes);
  ring.full = reinterpret_cast<uint64_t*>(results + 8 * kHopperWarpFloats);
  ring.empty = ring.full + kHopperStages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kHopperStages; ++s) {
      MbarrierInit(&ring.full[s], 1);
      MbarrierInit(&ring.empty[s], 2);
    }
    MbarrierInitFence();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    ReleaseRegisters<40>();
    if (threadIdx.x == 0) HopperFill(&x, &w, grid, ring);
    return;
  }
  ClaimRegisters<232>();
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  const int warp = static_cast<int>(threadIdx.x) / kWarp - 4;
  const int lane = threadIdx.x % kWarp;
  float* warp_sums = results + warp * kHopperWarpFloats;
  const int pieces = grid.tiles_m * grid.tiles_n * grid.splits;
  for (int i = blockIdx.x; i < pieces; i += gridDim.x) {
    const HopperTile tile(grid, i);
    float sums[128];
    HopperMultiply(tile, group, &ring, sums);
    const int64_t m = int64_t{tile.m} * kHopperRows + group * 64 + warp % 4 * 16;
#pragma unroll
    for (int part = 0; part < 4; ++part) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        const float* from = sums + 32 * part + 4 * j;
        *reinterpret_cast<float2*>(warp_sums + HopperWarpTile::At(lane / 4, column)) =
            make_float2(from[0], from[1]);
        *reinterpret_cast<float2*>(warp_sums + HopperWarpTile::At(lane / 4 + 8, column)) =
            make_float2(from[2], from[3]);
      }
      __syncwarp();
      StoreSums<HopperWarpTile>(args, warp_sums, m, int64_t{tile.n} * kHopperColumns + 64 * part,
                                grid.splits > 1 ? tile.split : -1);
      __syncwarp();
    }
  }
}

}  // namespace minfer::kernels::cuda
