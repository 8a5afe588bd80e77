// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where the slots of an expert lie, worked out by a warp from the counts. They are not trusted:
// whatever they say, slots and tiles stay within what there is.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/experts/expert_mmq.h"

namespace minfer::kernels::cuda {

inline constexpr int kTileSlots = 8;

// The most tiles, or groups of `tiles` of them, that so many slots can need.
inline int64_t MostExpertParts(int64_t n_slots, int64_t n_experts, int64_t tiles) {
  const int64_t active = n_slots < n_experts ? n_slots : n_experts;
  return active + (n_slots - active) / (kTileSlots * tiles);
}

// Slots of one expert that are multiplied together; none: expert -1.
struct ExpertPart {
  int expert = -1;
  int first_slot = 0;  // in the order of experts
  int slots = 0;
  int first_tile = 0;
};

// Up to the lane and this one.
__device__ __forceinline__ int WarpRunningSum(int x) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, x, offset);
    if (lane >= offset) x += below;
  }
  return x;
}

// The `wanted`-th part of up to `tiles` tiles. Counts are clamped, so that sums do not overflow.
__device__ __forceinline__ ExpertPart FindPart(const ExpertLists& lists, int tiles, int wanted,
                                               int most_tiles) {
  constexpr int kEach = 4;
  const int lane = threadIdx.x % kWarp;
  const int part_slots = kTileSlots * tiles;
  int slots_before = 0;
  int tiles_before = 0;
  int parts_before = 0;
  for (int base = 0; base < lists.n_experts; base += kWarp * kEach) {
    int counts[kEach];
    int slots = 0;
    int all_tiles = 0;
    int parts = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int e = base + kEach * lane + j;
      counts[j] = e < lists.n_experts ? min(max(lists.counts[e], 0), lists.n_slots) : 0;
      slots += counts[j];
      all_tiles += (counts[j] + kTileSlots - 1) / kTileSlots;
      parts += (counts[j] + part_slots - 1) / part_slots;
    }
    const int slots_here = WarpRunningSum(slots);
    const int tiles_here = WarpRunningSum(all_tiles);
    const int parts_here = WarpRunningSum(parts);
    int at = parts_before + parts_here - parts;
    const unsigned who = __ballot_sync(0xffffffffu, at <= wanted && wanted < at + parts);
    if (who != 0) {
      ExpertPart part;
      int slot = slots_before + slots_here - slots;
      int tile = tiles_before + tiles_here - all_tiles;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const int mine = (counts[j] + part_slots - 1) / part_slots;
        if (at <= wanted && wanted < at + mine) {
          const int skipped = wanted - at;
          part = {base + kEach * lane + j, slot + skipped * part_slots,
                  min(counts[j] - skipped * part_slots, part_slots), tile + skipped * tiles};
        }
        at += mine;
        slot += counts[j];
        tile += (counts[j] + kTileSlots - 1) / kTileSlots;
      }
      const int source = __ffs(static_cast<int>(who)) - 1;
      part.expert = __shfl_sync(0xffffffffu, part.expert, source);
      part.first_slot = __shfl_sync(0xffffffffu, part.first_slot, source);
      part.slots = __shfl_sync(0xffffffffu, part.slots, source);
      part.first_tile = __shfl_sync(0xffffffffu, part.first_tile, source);
      part.slots = min(part.slots, lists.n_slots - part.first_slot);
      const int used = (part.slots + kTileSlots - 1) / kTileSlots;
      if (part.slots <= 0 || part.first_tile + used > most_tiles) part.expert = -1;
      return part;
    }
    slots_before += __shfl_sync(0xffffffffu, slots_here, kWarp - 1);
    tiles_before += __shfl_sync(0xffffffffu, tiles_here, kWarp - 1);
    parts_before += __shfl_sync(0xffffffffu, parts_here, kWarp - 1);
  }
  return {};
}

}  // namespace minfer::kernels::cuda
