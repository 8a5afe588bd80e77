// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The streamed MMVQ of many rows where a matrix is so small that every block has its items once:
// what such a launch costs is the way from its first byte to its last, not its work. So all that an
// item needs is asked for at once, and its work is cut as far as the order of sums allows: a stage
// of 16 rows has four classes of steps whose sums are added at the end ((0 + 1) + (2 + 3)), and up
// to four warps share them; the blocks of a cluster share the stages, and each finishes a part of
// the columns of all. The sums are those of StreamKernel, added in the same order.
//
// Shared memory: the stages of the block, its activations (CopyActivations), and the sums: stages x
// classes x columns x 16 rows.
#pragma once

#include "kernels/cuda/arch/cluster.cuh"
#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/mmvq/stream_finish.cuh"
#include "kernels/cuda/mmvq/stream_sums.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kOnceWarps = 16;  // the most of a block
inline constexpr int kClasses = 4;

// Of one item: stages of the block, the warps of a stage, and how the blocks share.
struct OnceShape {
  int stages = 1;
  int sharers = 1;  // 1, 2 or 4 warps of a stage
  int ranks = 1;    // blocks of a cluster
};

// One sum over the classes of each stage and over the stages, in their order.
template <int kColumns>
__device__ __forceinline__ float ClassesSum(const float* partial, int stages, int column, int row) {
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kStreamItemWarps; ++w) {
    if (w >= stages) break;
    const float* at = partial + (w * kClasses * kColumns + column) * kStreamRows + row;
    constexpr int kStep = kColumns * kStreamRows;
    const float of_stage = (at[0] + at[kStep]) + (at[2 * kStep] + at[3 * kStep]);
    sum = w == 0 ? of_stage : sum + of_stage;
  }
  return sum;
}

// Steps 2 h and 2 h + 1 of each group of a stage; their sums go to `partial` of the ranks that
// finish their columns.
template <ElementType type, int kEights>
__device__ __forceinline__ void AddClass(const uint8_t* activations, const uint8_t* slot, int h,
                                         float* partial, int ranks, int lane) {
  using Sums = ManyRows<type, kEights>;
  using Tile = StreamTile<type>;
  const int g = lane / 4;
  const int t = lane % 4;
  float sums[kEights][4] = {};
#pragma unroll
  for (int q = 0; q < Sums::kGroups; ++q) {
    Tile top;
    Tile bottom;
    top.template LoadSteps<2>(slot + g * Tile::kRowBytes, 8 * q + 2 * h, t);
    bottom.template LoadSteps<2>(slot + (g + 8) * Tile::kRowBytes, 8 * q + 2 * h, t);
    float2 scales0[2];
    float2 scales1[2];
    top.ScalePair(0, scales0);
    bottom.ScalePair(0, scales1);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const uint8_t* block = activations + (8 * q + 2 * h + j) * Sums::kBlockBytes;
      const uint2 a = top.Step(j);
      const uint2 b = bottom.Step(j);
      const uint32_t words[4] = {a.x, b.x, a.y, b.y};
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        Sums::AddColumns(words, typename Sums::Column(block, e, g, t, g / 4 * 16), scales0[j],
                         scales1[j], sums[e]);
      }
    }
  }
  const int of_rank = Sums::kColumns / ranks;
#pragma unroll
  for (int e = 0; e < kEights; ++e) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = 8 * e + 2 * t + (i & 1);
      float* to = partial + column * kStreamRows + g + 8 * (i / 2);
      if (ranks == 1) {
        *to = sums[e][i];
      } else {
        StoreToRank(to, column / of_rank, sums[e][i]);
      }
    }
  }
}

// A thread's result of an item and what is added to it: worked out before the kernel waits. The
// columns are the rank's; a thread has a sum, those of two planes are 16 lanes apart.
struct OnceResult {
  float* out = nullptr;  // nullptr: none
  const float* added = nullptr;
  float bias = 0.0f;
  float add = 0.0f;
  bool has_bias = false;
  bool sums = false;  // whether the thread has one
  int column = 0;

  __device__ __forceinline__ OnceResult(const StreamArgs& args, int item, int first_column, int i,
                                        int count) {
    const int planes = args.residual ? 2 : 1;
    sums = i < count;
    column = first_column + i / kStreamRows;
    const int m = column / planes;
    const int p = PartOf(args, item);
    const MmvqPart& part = args.parts[p];
    const int64_t r = int64_t{item - args.first_item[p]} * kStreamRows + i % kStreamRows;
    if (!sums || column % planes != 0 || m >= args.rows / planes || r >= part.n) return;
    out = part.out + m * part.out_stride + r;
    if (part.bias != nullptr) bias = part.bias[r];
    if (part.add != nullptr) added = part.add + m * part.out_stride + r;
    has_bias = part.bias != nullptr;
  }

  // Once the kernels before are complete.
  __device__ __forceinline__ void LoadAdd() {
    if (added != nullptr) add = *added;
  }

  template <int kColumns>
  __device__ __forceinline__ void Finish(const StreamArgs& args, const float* partial,
                                         int i) const {
    if (!sums) return;  // of whole warps
    float value = ClassesSum<kColumns>(partial, args.stages, column, i % kStreamRows);
    if (args.residual) value += __shfl_down_sync(0xffffffffu, value, kStreamRows);
    if (has_bias) value += bias;
    if (added != nullptr) value += add;
    if (out != nullptr) *out = value;
  }
};

template <ElementType type, int kEights>
__global__ void __launch_bounds__(kOnceWarps* kWarp, 2)
    StreamOnceKernel(const __grid_constant__ StreamArgs args, const OnceShape shape) {
  using Tile = StreamTile<type>;
  constexpr int kColumns = 8 * kEights;
  constexpr int kBlocks = Tile::kStageValues / 32;  // of a stage
  constexpr int kStageActivations = kBlocks * kColumns * kInterleavedBytes;
  extern __shared__ __align__(16) uint8_t stream_shared[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int rank = shape.ranks == 1 ? 0 : ClusterRank();
  const int w = warp / shape.sharers;
  const int sharer = warp % shape.sharers;
  const int stage = rank * shape.stages + w;
  const int item = static_cast<int>(blockIdx.x) / shape.ranks;
  const bool works = stage < args.stages;

  uint8_t* slot = stream_shared + w * kStageBytes<type>;
  uint8_t* activations = stream_shared + shape.stages * kStageBytes<type>;
  auto* partial = reinterpret_cast<float*>(activations + shape.stages * kStageActivations);
  if (works) {
    Copier<type> copier;
    copier.Prepare(args, lane);
    copier.CopyShare(args, FindItem<false>(args, item), stage, slot, lane, sharer, shape.sharers);
  }
  CpAsyncCommit();
  const int of_rank = kColumns / shape.ranks;
  OnceResult result(args, item, rank * of_rank, static_cast<int>(threadIdx.x),
                    of_rank * kStreamRows);
  if (shape.ranks > 1) ClusterArrive();
  GridDependencyWait();
  CopyActivations<kColumns>(args, activations, rank * shape.stages * kBlocks,
                            shape.stages * kBlocks);
  CpAsyncCommit();
  result.LoadAdd();
  CpAsyncWait<0>();
  if (shape.ranks > 1) ClusterWait();
  __syncthreads();
  // Measured: before, the bytes of the next kernels are in the way of the activations.
  GridDependencyLaunch();
  if (works) {
#pragma unroll 1
    for (int h = sharer; h < kClasses; h += shape.sharers) {
      AddClass<type, kEights>(activations + w * kStageActivations, slot, h,
                              partial + (stage * kClasses + h) * kColumns * kStreamRows,
                              shape.ranks, lane);
    }
  }
  if (shape.ranks > 1) {
    ClusterArrive();
    ClusterWait();
  } else {
    __syncthreads();
  }
  result.template Finish<kColumns>(args, partial, static_cast<int>(threadIdx.x));
}

}  // namespace minfer::kernels::cuda
