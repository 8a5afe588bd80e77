// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes one row and up to eight query heads of one KV head, over stripes of the row's
// cells. A warp has sixteen cells of a step and walks them by itself; the warps' sums meet once a
// stripe.
//
//   scores    queries (eight heads, and what their halves leave out) times K: a lane reads 16 bytes
//             of a cell, columns permuted alike on both sides, straight to fragments of mma
//   softmax   of a warp's own cells, a head by four lanes
//   values    V transposed times the weights, as halves and as what those leave out: a lane reads
//             16 bytes of four cells and pairs their columns
//   stripes   of up to kShortSteps steps there is one; of more, partial results, which the block
//             that comes last adds up in their order
//
// Bound by latency where contexts are short, by the bytes of K and V where they are long.
#pragma once

#include "kernels/cuda/arch/atom_add.cuh"
#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/attention/stripes.cuh"
#include "kernels/cuda/attention_decode/decode_cells.cuh"
#include "kernels/cuda/attention_decode/decode_result.cuh"
#include "kernels/cuda/attention_decode/decode_tail.cuh"

namespace minfer::kernels::cuda {

// A step is so many cells; rows of up to this many steps are one stripe.
inline constexpr int kStepCells = kDecodeWarps * 16;
inline constexpr int kShortSteps = 2;

// The steps of a row, and how they are shared out; of the length alone.
struct DecodeStripes {
  int start;  // the first page's first cell
  int steps;
  int per_stripe;
  int stripes;

  __device__ explicit DecodeStripes(const VisibleCells& seen) {
    start = seen.low / kKvPageCells * kKvPageCells;
    steps = seen.high <= seen.low ? 0 : (seen.high - start + kStepCells - 1) / kStepCells;
    if (steps <= kShortSteps) {
      per_stripe = max(steps, 1);
      stripes = min(steps, 1);
    } else if (steps <= kAttentionStripes) {
      per_stripe = 1;
      stripes = steps;
    } else {
      per_stripe = (steps + kAttentionStripes - 1) / kAttentionStripes;
      stripes = (steps + per_stripe - 1) / per_stripe;
    }
  }
};

// What a warp knows of its cells: for head lane / 4 the maximum and the lane's part of the sum, and
// the sums of its columns for heads 2 (lane % 4) and the next.
template <int kDim>
struct WarpState {
  float highest = -INFINITY;
  float total = 0.0f;
  float sums[kDim / 16][4] = {};
};

// A capped score; not inline, for it is rare and long.
static __device__ __noinline__ float CapScore(float score, float softcap) {
  return softcap * tanhf(score / softcap);
}

// Scores become weights, fragments of B: halves and what those leave out. Cells outside [low, high)
// of the sixteen weigh exactly 0.
template <int kDim>
__device__ __forceinline__ void WeighCells(const AttentionArgs& args, float (*scores)[4], int low,
                                           int high, WarpState<kDim>* state, uint32_t* weights,
                                           uint32_t* rest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float s[4];
  float largest = state->highest;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    s[i] = (scores[i / 2][i % 2] + scores[i / 2][i % 2 + 2]) * args.scale;
    if (args.softcap > 0.0f) s[i] = CapScore(s[i], args.softcap);
    const int cell = ValueFragments<kDim>::Cell(i);
    if (cell < low || cell >= high) s[i] = -INFINITY;
    largest = fmaxf(largest, s[i]);
  }
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  const float factor = state->highest == -INFINITY ? 0.0f : expf(state->highest - largest);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    s[i] = s[i] == -INFINITY ? 0.0f : expf(s[i] - largest);
    sum += s[i];
  }
  state->total = state->total * factor + sum;
  state->highest = largest;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint2 split = SplitPair(s[2 * i], s[2 * i + 1]);
    weights[i] = split.x;
    rest[i] = split.y;
  }
  const float first = __shfl_sync(0xffffffffu, factor, lane % 4 * 8);
  const float second = __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + 4);
#pragma unroll
  for (int w = 0; w < kDim / 16; ++w) {
    state->sums[w][0] *= first;
    state->sums[w][1] *= second;
    state->sums[w][2] *= first;
    state->sums[w][3] *= second;
  }
}

// What the warps know of a stripe, brought to each head's maximum, in shared memory for SumOfWarps.
template <int kDim>
__device__ __forceinline__ void MeetWarps(const WarpState<kDim>& state,
                                          DecodeShared<kDim>* shared) {
  constexpr int kWarps = kDecodeWarps;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int mine = lane / 4;  // the head whose maximum the lane knows
  float total = state.total + __shfl_xor_sync(0xffffffffu, state.total, 1);
  total += __shfl_xor_sync(0xffffffffu, total, 2);
  if (lane % 4 == 0) shared->highest[warp][mine] = state.highest;
  __syncthreads();
  float largest = -INFINITY;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) largest = fmaxf(largest, shared->highest[w][mine]);
  const float factor = state.highest == -INFINITY ? 0.0f : expf(state.highest - largest);
  const float factors[2] = {__shfl_sync(0xffffffffu, factor, lane % 4 * 8),
                            __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + 4)};
  if (lane % 4 == 0) {
    shared->totals[warp][mine] = total * factor;
    if (warp == 0) shared->head_highest[mine] = largest;
  }
#pragma unroll
  for (int r = 0; r < kDim / 4; ++r) {
    shared->rooms[warp].sums[r][SumLane(r, lane)] = state.sums[r / 4][r % 4] * factors[r % 2];
  }
  __syncthreads();
}

// What the launch has worked out: query heads of a KV head, and the blocks that share these.
struct DecodeGroups {
  int heads;
  int blocks;
};

// Which heads of which row a block has.
struct DecodeBlock {
  int64_t row;
  int kv_head;
  int first_head;
  int heads;
  bool first_of_kv_head;

  __device__ explicit DecodeBlock(const DecodeGroups& groups) {
    row = blockIdx.x;
    kv_head = static_cast<int>(blockIdx.y);
    int part = 0;
    if (groups.blocks > 1) {
      part = kv_head % groups.blocks;
      kv_head /= groups.blocks;
    }
    first_of_kv_head = part == 0;
    first_head = kv_head * groups.heads + part * kDecodeHeads;
    heads = min(kDecodeHeads, (kv_head + 1) * groups.heads - first_head);
  }
};

// A warp's cells of a stripe, of which the first sixteen are under way. The next ones follow as
// soon as their place is free.
template <int kDim>
__device__ __forceinline__ void AttendStripe(const AttentionArgs& args, const VisibleCells& seen,
                                             const DecodeStripes& plan, int stripe, int kv_head,
                                             int own_cell, const DecodeShared<kDim>& shared,
                                             WarpCells<kDim> cells, StepCells<kDim>* step,
                                             WarpState<kDim>* state) {
  const int mine = plan.start + static_cast<int>(threadIdx.x) / kWarp * 16;
  const int end = min((stripe + 1) * plan.per_stripe, plan.steps);
  for (int s = stripe * plan.per_stripe; s < end; ++s) {
    const WarpCells<kDim> now = cells;
    cells = WarpCells<kDim>();  // none after the last step
    if (s + 1 < end) {
      cells = WarpCells<kDim>(args, seen, mine + (s + 1) * kStepCells, kv_head, own_cell);
    }
    uint32_t weights[2];
    uint32_t rest[2];
    float scores[2][4] = {};
    step->MultiplyKeys(now, shared, scores);
    if (now.any()) WeighCells<kDim>(args, scores, now.low, now.high, state, weights, rest);
    step->BeginKeys(cells);
    step->MultiplyValues(now, shared, weights, rest, state->sums);
    step->BeginValues(cells);
  }
}

// Whether this block is the last of the row's; the counter is 0 again then. What the block has
// written comes before its arrival, and what all others have is seen after the last one's.
template <int kDim>
__device__ __forceinline__ bool ArrivesLast(uint32_t* counter, int blocks,
                                            DecodeShared<kDim>* shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool last = AtomAddAcqRel(counter, 1) + 1 == static_cast<uint32_t>(blocks);
    if (last) *counter = 0;
    shared->last_block = last;
  }
  __syncthreads();
  return shared->last_block;
}

// Whether the next kernel may start only once the sums are there, instead of at once. Measured:
// what it asks for ahead of its turn is in the way of small heads' last steps, and hides the
// latency of large ones'.
template <int kDim>
inline constexpr bool kYieldsLate = kDim <= 64;

// Registers for two blocks a multiprocessor, and some left for the neighbouring kernels' where the
// cells wait in shared memory.
template <int kDim>
__global__ void __launch_bounds__(kDecodeThreads + (kCellsShared<kDim> ? 64 : 0),
                                  kDim <= 128 ? 2 : 1)
    AttentionDecodeKernel(const __grid_constant__ AttentionDecodeArgs all, DecodeGroups groups) {
  // A launch that is not settled waits first, so that those behind it may be.
  if (!all.settled) GridDependencyWait();
  if (!kYieldsLate<kDim>) GridDependencyLaunch();
  extern __shared__ __align__(16) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<DecodeShared<kDim>*>(shared_bytes);
  const AttentionArgs& args = all.attention;
  const DecodeBlock block(groups);
  const int z = static_cast<int>(blockIdx.z);
  const int depth = static_cast<int>(gridDim.z);
  if (block.row >= args.rows) {  // a row of planes alone
    if (all.settled) GridDependencyWait();
    if (z == 0) WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
    return;
  }
  const VisibleCells seen = FindVisible(args, block.row);
  const int cell = all.tail.k != nullptr ? all.tail.cells[block.row] : -1;
  const DecodeStripes plan(seen);
  const bool empty = plan.stripes == 0;
  // Without a wait if it comes before: the row's first block, which has one, ends later.
  if (empty ? z > 0 : z >= plan.stripes) return;
  CopyNorms<kDim>(all.tail, &shared);

  // The block of the last stripe has the row's own cell. The first step's loads go out before the
  // row is prepared, and where nothing writes there, before the launches ahead are complete.
  int last = plan.stripes - 1;
  if (last >= depth) last %= depth;
  const bool owns = all.tail.k != nullptr && (empty || last == z);
  const int own_cell = owns && cell >= 0 ? seen.high - 1 : -1;
  const int mine = plan.start + static_cast<int>(threadIdx.x) / kWarp * 16;
  WarpCells<kDim> cells(args, seen, mine + z * plan.per_stripe * kStepCells, block.kv_head,
                        own_cell);
  StepCells<kDim> step(&shared.rooms[threadIdx.x / kWarp]);
  step.BeginKeys(cells);
  step.BeginValues(cells);
  if (all.settled) GridDependencyWait();
  RowInputs<kDim> row(all, block.row, block.first_head, block.heads, block.kv_head);
  PrepareRow<kDim>(all, block.kv_head, owns, cell, block.first_of_kv_head, &row, &shared);
  if (empty) {
    WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
    return;
  }
  for (int stripe = z; stripe < plan.stripes; stripe += depth) {
    WarpState<kDim> state;
    if (stripe != z) {
      __syncthreads();  // the warps' rooms are still read
      cells = WarpCells<kDim>(args, seen, mine + stripe * plan.per_stripe * kStepCells,
                              block.kv_head, own_cell);
      step.BeginKeys(cells);
      step.BeginValues(cells);
    }
    AttendStripe<kDim>(args, seen, plan, stripe, block.kv_head, own_cell, shared, cells, &step,
                       &state);
    MeetWarps<kDim>(state, &shared);
    if (plan.stripes > 1 || all.counters == nullptr) {
      WritePartial<kDim>(args, block.row, block.first_head, block.heads, stripe, shared);
    }
  }
  if (kYieldsLate<kDim>) GridDependencyLaunch();
  if (all.counters == nullptr) return;
  if (plan.stripes == 1) {
    FinishRow<kDim>(args, block.row, block.first_head, block.heads, shared);
    return;
  }
  if (ArrivesLast<kDim>(all.counters + block.row * gridDim.y + blockIdx.y, min(depth, plan.stripes),
                        &shared)) {
    CombineStripes<kDim>(args, block.row, block.first_head, block.heads, plan.stripes, &shared);
  }
}

// The stripes of another launch, added up.
template <int kDim>
__global__ void __launch_bounds__(kDecodeThreads)
    DecodeCombineKernel(const __grid_constant__ AttentionDecodeArgs all, DecodeGroups groups) {
  GridDependencyLaunch();
  GridDependencyWait();
  extern __shared__ __align__(16) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<DecodeShared<kDim>*>(shared_bytes);
  const AttentionArgs& args = all.attention;
  const DecodeBlock block(groups);
  const VisibleCells seen =
      block.row >= args.rows ? VisibleCells{nullptr, 0, 0} : FindVisible(args, block.row);
  const DecodeStripes plan(seen);
  if (plan.stripes > 0) {
    CombineStripes<kDim>(args, block.row, block.first_head, block.heads, plan.stripes, &shared);
  } else {
    WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
  }
}

}  // namespace minfer::kernels::cuda
