// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMVQ on the integer tensor cores, weights streamed through shared memory.
//
// Work is cut into items: 16 rows of one matrix, or 8 of the gate and the same 8 of up. A few
// blocks a multiprocessor take items in turn. W warps share an item: warp w takes stages w, w + W,
// ... of its columns, and their sums are added in the order of the warps; where W is small, a block
// has several such groups, each with an item of its own. Each warp owns a ring of stages that
// cp.async fills ahead, on across items, so that bytes stay in flight whatever the warps do; the
// ring is filled before the kernel waits for the one before it.
//
// Shared memory: the rings of all warps, the sums of each group, results of a gate that are to be
// quantised, sums of squares and the planes of a norm (mmvq_stream.cuh lays them out).
//
// One row of activations would use one of the eight columns of an mma. It is spread over them
// instead: column s holds the values of step s and zeros elsewhere, so that one accumulator
// collects a group of eight steps and a lane scales two of them (mode One; with the residual rows,
// two accumulators). More rows have a column each and are scaled step by step (mode Many). Both add
// the steps of a group in the same four sums, so their bits are the same.
//
// Bound by the bytes of the weights: about 140 instructions a warp for the 2,304 bytes of 16 rows
// x 256 values of Q4_K, where 4.6 TB/s leave 460.
#pragma once

#include <type_traits>

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/arch/named_barrier.cuh"
#include "kernels/cuda/mmvq/stream_finish.cuh"
#include "kernels/cuda/mmvq/stream_norm.cuh"
#include "kernels/cuda/mmvq/stream_sums.cuh"

namespace minfer::kernels::cuda {

// What a warp copies next into its ring. A warp without stages copies nothing.
template <ElementType type, bool kGated>
struct Feed {
  Copier<type> copier;
  ItemRows rows = {};
  uint8_t* ring;
  int item;
  int stage;
  int slot = 0;

  __device__ __forceinline__ void Start(const StreamArgs& args, uint8_t* to, int first, int w,
                                        int lane) {
    copier.Prepare(args, lane);
    ring = to;
    item = w < args.stages ? first : args.items;
    stage = w;
    if (item < args.items) rows = FindItem<kGated>(args, item);
  }

  // step: from an item of the group to its next.
  __device__ __forceinline__ void Next(const StreamArgs& args, int step, int w, int lane) {
    if (item < args.items) {
      copier.Copy(args, rows, stage, ring + slot * kStageBytes<type>, lane);
      stage += args.warps;
      if (stage >= args.stages) {
        stage = w;
        item += step;
        if (item < args.items) rows = FindItem<kGated>(args, item);
      }
    }
    slot = slot + 1 == args.slots ? 0 : slot + 1;
    CpAsyncCommit();
  }
};

// Where a kernel finds its quantised activations: in memory, copied from there by each block, or
// made by it.
enum class StreamInput { kGlobal, kCopied, kNormed };

// A bound on the registers: kernels for blocks of 32 and one row keep to 96, so that blocks of the
// next kernel fit beside theirs and fill their rings early.
inline constexpr int kStreamLeanWarps = 19;
template <ElementType type, typename Sums>
inline constexpr int kStreamThreads = kWarp*(Sums::kWarpsFinish && !StreamTile<type>::kSuperBlocks
                                                 ? kStreamLeanWarps
                                                 : kStreamBlockWarps);

// What block `block` of the `blocks` that share the items does.
template <ElementType type, typename Sums, bool kGated, StreamInput kInput>
__device__ __forceinline__ void StreamItems(const StreamArgs& args, int block, int blocks) {
  extern __shared__ __align__(16) uint8_t stream_shared[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = warp * args.group_of / 256;
  const int w = warp - group * args.warps;
  const bool works = group < args.groups;
  const int item_floats = args.warps * Sums::kColumns * kStreamRows;
  uint8_t* at = stream_shared + args.groups * args.warps * args.slots * kStageBytes<type>;
  float* partials = reinterpret_cast<float*>(at) + group * args.buffers * item_floats;
  float* acts = reinterpret_cast<float*>(at) + args.groups * args.buffers * item_floats;
  // Measured: many rows are faster where the next kernel's bytes are asked for after this one's.
  constexpr bool kYieldsFirst = Sums::kWarpsFinish;
  if constexpr (kYieldsFirst) GridDependencyLaunch();
  Feed<type, kGated> feed;
  const int block_items = blocks * args.groups;
  int base = block * args.groups;
  std::conditional_t<Sums::kWarpsFinish, OneResult, Addends<Sums::kAddends>> addends;
  Sums sums;
  // Many of them would only take registers from long loops.
  constexpr bool kAhead = !kGated && (Sums::kWarpsFinish || kInput != StreamInput::kGlobal);
  const Finishers by =
      Sums::kWarpsFinish ? Finishers{lane, kWarp} : Finishers{w * kWarp + lane, args.warps * kWarp};
  if (works) {
    feed.Start(args, stream_shared + warp * args.slots * kStageBytes<type>, base + group, w, lane);
#pragma unroll 1
    for (int i = 0; i < args.slots; ++i) feed.Next(args, block_items, w, lane);
    if (kAhead && base + group < args.items) addends.LoadBias(args, base + group, by);
    sums.Prepare(args, w, lane);
  }
  if constexpr (!kYieldsFirst) GridDependencyLaunch();
  const uint8_t* activations = args.activations;
  float* spare = acts + (kGated ? kMmvqMaxRows * kPlaneGroup : 0);
  if constexpr (kInput == StreamInput::kNormed) {
    constexpr int kRows = Sums::kColumns;
    PlaneTarget planes;
    planes.out = spare + kRows * kNormWarps;
    planes.columns = kRows == 1 ? 0 : kRows;
    NormedRows<kRows> normed;
    normed.LoadWeights(args, warp, lane);
    GridDependencyWait();
    normed.Quantize(args, planes, spare, warp, lane);
    activations = static_cast<const uint8_t*>(planes.out);
  } else if constexpr (kInput == StreamInput::kCopied) {
    auto* to = reinterpret_cast<uint8_t*>(spare);
    GridDependencyWait();
    CopyActivations<Sums::kColumns>(args, to, 0, args.stages * StreamTile<type>::kStageValues / 32);
    CpAsyncCommit();
    CpAsyncWait<0>();
    __syncthreads();
    activations = to;
  } else {
    GridDependencyWait();
  }

  if (works && w < args.stages) sums.LoadFirst(args, activations, lane);
  int slot = 0;
  int turn = 0;  // the buffer of the item, and with kWarpsFinish the warp that finishes it
  for (; base < args.items; base += block_items) {
    const int item = base + group;
    if (works && item < args.items) {
      if constexpr (kAhead) addends.LoadAdd(args, item, by);
#pragma unroll 1
      for (int stage = w; stage < args.stages; stage += args.warps) {
        CpAsyncWaitFor(args.slots - 1);
        __syncwarp();
        const uint8_t* from = feed.ring + slot * kStageBytes<type>;
#pragma unroll
        for (int q = 0; q < Sums::kGroups; ++q) {
          sums.template Add<kInput == StreamInput::kCopied>(args, activations, from, stage, q,
                                                            lane);
        }
        sums.Load(args, activations, stage + args.warps < args.stages ? stage + args.warps : w,
                  lane);
        __syncwarp();
        feed.Next(args, block_items, w, lane);
        slot = slot + 1 == args.slots ? 0 : slot + 1;
      }
      if constexpr (!kGated && !kAhead) {
        addends.LoadBias(args, item, by);
        addends.LoadAdd(args, item, by);
      }
      float* partial = partials + turn * item_floats;
      sums.Store(partial + w * Sums::kColumns * kStreamRows, lane);
      bool finishes = true;
      if constexpr (Sums::kWarpsFinish) {
        // A buffer is free again when its turn comes: of the items since, each other warp has
        // finished one, for which it waited until the warp that read the buffer had arrived, after
        // its reading. Where there is one buffer, the block's barriers stand between. (racecheck
        // does not follow arrivals: it reports these sums, kernels/cuda/README.md.)
        const int barrier = 1 + group * args.buffers + turn;
        finishes = w == turn;
        if (finishes) {
          NamedBarrierSync(barrier, args.warps * kWarp);
        } else {
          NamedBarrierArrive(barrier, args.warps * kWarp);
        }
      } else {
        NamedBarrierSync(1 + group, args.warps * kWarp);
      }
      if (finishes) {
        if constexpr (kGated) {
          if constexpr (Sums::kWarpsFinish) {
            FinishGatedRow(args, item, partial, acts, lane);
          } else {
            FinishGated<Sums::kColumns>(args, item, partial, acts, by);
          }
        } else {
          FinishItem<Sums::kColumns>(args, item, partial, addends, by);
        }
      }
      turn = turn + 1 == args.buffers ? 0 : turn + 1;
      if (kAhead && item + block_items < args.items) {
        addends.LoadBias(args, item + block_items, by);
      }
    }
    if (kGated && args.planes.out != nullptr) {
      __syncthreads();
      QuantizeActs(args, base * 8 / kPlaneGroup, acts, warp, static_cast<int>(blockDim.x) / kWarp,
                   lane);
      __syncthreads();
    }
  }
}

template <ElementType type, typename Sums, bool kGated, StreamInput kInput>
__global__ void __launch_bounds__(kStreamThreads<type, Sums>, 1)
    StreamKernel(const __grid_constant__ StreamArgs args) {
  StreamItems<type, Sums, kGated, kInput>(args, static_cast<int>(blockIdx.x),
                                          static_cast<int>(gridDim.x));
}

}  // namespace minfer::kernels::cuda
