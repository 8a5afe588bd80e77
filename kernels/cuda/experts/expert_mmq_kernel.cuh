// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMQ for the slots of experts. Block y takes the y-th part: up to kTiles tiles of eight slots of
// one expert; block x 96 rows of its matrix, or 48 of its gate and 48 of its up. The ring, the
// twelve warps and the sums are those of mmq_kernel.cuh; k is never split, so a slot's sums have
// one order. Tiles that a part does not have are neither copied nor multiplied. Bound by the bytes
// of the weights for few slots an expert, by the scaling of sums for many.
#pragma once

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/experts/expert_parts.cuh"
#include "kernels/cuda/mmq/mmq_kernel.cuh"

namespace minfer::kernels::cuda {

struct ExpertMmqKernelArgs {
  ExpertLists lists;
  int most_tiles;
  const uint8_t* weights[2];
  MmvqGate gate;
  const float* bias;
  int64_t bias_stride;
  int64_t n;
  int64_t k;
  uint32_t weight_row_bytes;
  int units;
  const uint8_t* activations;
  float* out;
};

// Copies the tiles of a part unit after unit. Unrolled as MmqActivations is.
template <int kTiles>
struct ExpertActivations {
  static constexpr int kPieces = kMmqUnitBytes / 16;
  static constexpr int kSteps = (kTiles * kPieces + kMmqThreads - 1) / kMmqThreads;

  const uint8_t* from[kSteps];
  int pieces;

  __device__ void Start(const uint8_t* first, int units, int tiles) {
    pieces = tiles * kPieces;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      from[i] = first + int64_t{index / kPieces} * units * kMmqUnitBytes + index % kPieces * 16;
    }
  }

  __device__ __forceinline__ void Copy(uint8_t* stage) {
    uint8_t* to = stage + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      if (index < pieces) CpAsync16(to + i * kMmqThreads * 16, from[i], true);
      from[i] += kMmqUnitBytes;
    }
  }
};

// Stores the sums of a warp's rows, which begin at row r.
template <int kTiles>
__device__ __forceinline__ void StoreSlots(const ExpertMmqKernelArgs& args, const ExpertPart& part,
                                           int64_t r, const float (*sums)[4]) {
  const int lane = threadIdx.x % kWarp;
  const int64_t row = r + lane / 4;
  float bias[2] = {0.0f, 0.0f};
  if (args.bias != nullptr) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (row + 8 * h < args.n) bias[h] = args.bias[part.expert * args.bias_stride + row + 8 * h];
    }
  }
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int column = 8 * t + lane % 4 * 2 + c;
      if (column >= part.slots) continue;
      const int slot = args.lists.slots[part.first_slot + column];
      if (slot < 0 || slot >= args.lists.n_slots) continue;
      float* out = args.out + slot * args.n;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float sum = sums[t][2 * h + c];
        if (row + 8 * h < args.n) out[row + 8 * h] = args.bias == nullptr ? sum : sum + bias[h];
      }
    }
  }
}

template <ElementType type, int kTiles>
__global__ void __launch_bounds__(kMmqThreads, kTiles > 4 ? 1 : 2)
    ExpertMmqKernel(const __grid_constant__ ExpertMmqKernelArgs args) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Type = MmqType<type>;
  constexpr int kStages = MmqStages<type>();
  constexpr int kBytes = MmqStageBytes<type, kTiles>(1);
  GridDependencyLaunch();
  GridDependencyWait();
  const ExpertPart part =
      FindPart(args.lists, kTiles, static_cast<int>(blockIdx.y), args.most_tiles);
  if (part.expert < 0) return;
  const int tiles = (part.slots + kTileSlots - 1) / kTileSlots;
  const int warp = threadIdx.x / kWarp;
  const int group = warp % kMmqGroups;
  const bool gated = args.gate != MmvqGate::kNone;
  const int64_t r0 = static_cast<int64_t>(blockIdx.x) * (gated ? kMmqHalf : kMmqRows);
  MmqRowsOf rows;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t first = min(gated ? r0 : r0 + h * kMmqHalf, args.n - 1);
    rows.first[h] = (gated && h == 1 ? args.weights[1] : args.weights[0]) +
                    (part.expert * args.n + first) * int64_t{args.weight_row_bytes};
    rows.last[h] = static_cast<int>(min(args.n - 1 - first, int64_t{kMmqHalf - 1}));
  }
  typename Type::Stager stager;
  stager.Start(rows, args.weight_row_bytes, args.k, 0);
  ExpertActivations<kTiles> activations;
  activations.Start(args.activations + int64_t{part.first_tile} * args.units * kMmqUnitBytes,
                    args.units, tiles);
  const auto stage = [&](int u, int slot) {
    if (u < args.units) {
      uint8_t* to = shared + slot * kBytes;
      stager.Copy(to);
      activations.Copy(to + kMmqRows * Type::kPitch);
    }
    CpAsyncCommit();
  };
  float sums[kTiles][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) stage(s, s);
  int slot = 0;
  int filling = kStages - 1;
  for (int u = 0; u < args.units; ++u) {
    CpAsyncWait<kStages - 2>();
    __syncthreads();
    stage(u + kStages - 1, filling);
    const uint8_t* staged = shared + slot * kBytes;
    MultiplyUnit<type, kTiles, (kTiles > 1)>(1, staged + group * 16 * Type::kPitch,
                                             staged + kMmqRows * Type::kPitch, warp / kMmqGroups,
                                             sums, tiles);
    slot = slot + 1 == kStages ? 0 : slot + 1;
    filling = filling + 1 == kStages ? 0 : filling + 1;
  }
  if (!JoinSums<kTiles>(args.gate, gated, reinterpret_cast<float*>(shared), sums)) return;
  const int64_t r = r0 + (gated ? group % (kMmqGroups / 2) : group) * 16;
  StoreSlots<kTiles>(args, part, r, sums);
}

template <ElementType type, int kTiles>
KernelStatus LaunchExpertMmq(const ExpertMmqKernelArgs& args, KernelStream stream) {
  const int shared = MmqStages<type>() * MmqStageBytes<type, kTiles>(1);
  const int64_t grid_x = CeilDiv(args.n, args.gate != MmvqGate::kNone ? kMmqHalf : kMmqRows);
  const int64_t grid_y = MostExpertParts(args.lists.n_slots, args.lists.n_experts, kTiles);
  if (grid_x > kMaxGridX || grid_y > kMaxGridYz) return KernelStatus::kBadShape;
  const KernelStatus status = AllowSharedBytes(ExpertMmqKernel<type, kTiles>, shared, stream);
  if (status != KernelStatus::kOk) return status;
  return Launch(ExpertMmqKernel<type, kTiles>,
                {dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y)),
                 dim3(kMmqThreads), static_cast<size_t>(shared)},
                stream, args);
}

// As many tiles at once as an expert has on average or a little more; those beyond come again.
template <ElementType type>
KernelStatus RunExpertMmq(const ExpertMmqKernelArgs& args, int32_t shared_limit,
                          KernelStream stream) {
  constexpr int kChoices[] = {8, 4, 1};
  const int64_t average = args.lists.n_slots / args.lists.n_experts;
  const int wanted = average > 16 ? 8 : average >= 1 ? 4 : 1;
  for (const int tiles : kChoices) {
    const int bytes =
        MmqStages<type>() * (kMmqRows * MmqType<type>::kPitch + tiles * kMmqUnitBytes);
    if (tiles > wanted || bytes > shared_limit) continue;
    if (tiles == 8) return LaunchExpertMmq<type, 8>(args, stream);
    if (tiles == 4) return LaunchExpertMmq<type, 4>(args, stream);
    return LaunchExpertMmq<type, 1>(args, stream);
  }
  return KernelStatus::kUnsupportedType;
}

}  // namespace minfer::kernels::cuda
