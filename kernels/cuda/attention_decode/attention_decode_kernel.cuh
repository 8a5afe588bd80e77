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

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/attention/stripes.cuh"
#include "kernels/cuda/attention_decode/decode_tail.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"

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
    per_stripe =
        steps <= kShortSteps ? max(steps, 1) : (steps + kAttentionStripes - 1) / kAttentionStripes;
    stripes = (steps + per_stripe - 1) / per_stripe;
  }
};

// Sixteen cells of K as fragments of B: eight cells a tile, 32 columns of a cell 16 bytes a lane.
template <int kDim>
struct KeyFragments {
  static constexpr int kWide = kDim / 32;
  static constexpr bool kNarrow = kDim % 32 != 0;
  uint4 wide[2][kWide > 0 ? kWide : 1];
  uint2 narrow[2];

  __device__ __forceinline__ void LoadCell(const __half* cell, int tile, bool seen) {
    const int part = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      wide[tile][j] =
          seen ? *reinterpret_cast<const uint4*>(cell + 32 * j + 8 * part) : make_uint4(0, 0, 0, 0);
    }
    if constexpr (kNarrow) {
      narrow[tile] =
          seen ? *reinterpret_cast<const uint2*>(cell + 32 * kWide + 4 * part) : make_uint2(0, 0);
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

// Cell i of the four that a lane has of V: pairs of neighbours, as fragments want them.
__device__ __forceinline__ int ValueCell(int i) {
  return static_cast<int>(threadIdx.x) % 4 * 2 + i % 2 + i / 2 * 8;
}

// Sixteen cells of V: a lane has columns of its group of four cells, in pieces of 64 columns, 32
// and 16.
template <int kDim>
struct ValueFragments {
  static constexpr int kWords = kDim / 16;  // of a cell, two columns each
  uint32_t words[4][kWords];

  __device__ __forceinline__ void LoadCell(const __half* cell, int i, bool seen) {
    const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int p = 0; p < kDim / 64; ++p) {
      const uint4 four = seen ? *reinterpret_cast<const uint4*>(cell + 64 * p + 8 * group)
                              : make_uint4(0, 0, 0, 0);
      words[i][4 * p] = four.x;
      words[i][4 * p + 1] = four.y;
      words[i][4 * p + 2] = four.z;
      words[i][4 * p + 3] = four.w;
    }
    if constexpr (kDim % 64 >= 32) {
      constexpr int kAt = kDim / 64 * 64;
      const uint2 two =
          seen ? *reinterpret_cast<const uint2*>(cell + kAt + 4 * group) : make_uint2(0, 0);
      words[i][kAt / 16] = two.x;
      words[i][kAt / 16 + 1] = two.y;
    }
    if constexpr (kDim % 32 != 0) {
      constexpr int kAt = kDim / 32 * 32;
      words[i][kAt / 16] = seen ? *reinterpret_cast<const uint32_t*>(cell + kAt + 2 * group) : 0u;
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

// The column of register `r` of a lane's sums, as ValueFragments permutes them.
template <int kDim>
__device__ __forceinline__ int ColumnOf(int r, int group) {
  const int word = r / 4;
  const int odd = r % 4 / 2;
  if (word < kDim / 64 * 4) return word / 4 * 64 + 8 * group + word % 4 * 2 + odd;
  if (word < kDim / 32 * 2) return kDim / 64 * 64 + 4 * group + word % 2 * 2 + odd;
  return kDim / 32 * 32 + 2 * group + odd;
}

// Where a head's column lies in shared memory: lanes that write or read together meet no bank
// twice.
template <int kDim>
__device__ __forceinline__ int DecodeColumn(int head, int d) {
  return head * kDim + (kDim % 32 == 0 ? d ^ (head >> 1 & 3) ^ (d >> 5 & 1) << 2 : d);
}

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
    const int cell = ValueCell(i);
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

// A warp's sixteen cells of a step.
template <int kDim>
struct WarpCells {
  const __half* k = nullptr;
  const __half* v = nullptr;
  int low = 0;   // those seen of the sixteen
  int high = 0;  // low or less: none
  int own = -1;  // the row's own, if the block has it in shared memory

  __device__ WarpCells(const AttentionArgs& args, const VisibleCells& seen, int first, int kv_head,
                       int own_cell) {
    low = max(seen.low - first, 0);
    high = min(seen.high - first, 16);
    if (high <= low) return;
    own = own_cell - first;
    const int64_t page = seen.pages[first / kKvPageCells];
    const int64_t at =
        kv_head * KvSlabBytes(KvFormat::kF16, kDim) + first % kKvPageCells * kDim * 2;
    k = reinterpret_cast<const __half*>(args.k.pages + page * args.k.page_bytes + at);
    v = reinterpret_cast<const __half*>(args.v.pages + page * args.v.page_bytes + at);
  }
  __device__ bool Reads(int cell) const { return cell >= low && cell < high && cell != own; }

  __device__ __forceinline__ void LoadKeys(KeyFragments<kDim>* keys) const {
    const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const int cell = 8 * tile + group;
      keys->LoadCell(k + cell * kDim, tile, Reads(cell));
    }
  }
  __device__ __forceinline__ void LoadValues(ValueFragments<kDim>* values) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values->LoadCell(v + ValueCell(i) * kDim, i, Reads(ValueCell(i)));
    }
  }
  // The row's own cell, once it is in shared memory.
  __device__ __forceinline__ void TakeOwnKey(const __half* own_k, KeyFragments<kDim>* keys) const {
    const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      if (own == 8 * tile + group) keys->LoadCell(own_k, tile, true);
    }
  }
  __device__ __forceinline__ void TakeOwnValue(const __half* own_v,
                                               ValueFragments<kDim>* values) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (own == ValueCell(i)) values->LoadCell(own_v, i, true);
    }
  }
};

// The sums of all warps for a stripe: the heads' maxima, totals and columns, in shared memory.
template <int kDim>
__device__ __forceinline__ void MeetWarps(const WarpState<kDim>& state,
                                          DecodeShared<kDim>* shared) {
  constexpr int kWarps = kDecodeWarps;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  float total = state.total + __shfl_xor_sync(0xffffffffu, state.total, 1);
  total += __shfl_xor_sync(0xffffffffu, total, 2);
  if (lane % 4 == 0) {
    shared->highest[warp][lane / 4] = state.highest;
    shared->totals[warp][lane / 4] = total;
  }
#pragma unroll
  for (int r = 0; r < kDim / 4; ++r) shared->sums[warp][r][lane] = state.sums[r / 4][r % 4];
  __syncthreads();
  // A thread's registers are all of one head.
  const int head = lane % 4 * 2 + warp % 2;
  float factors[kWarps];
  float largest = -INFINITY;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) largest = fmaxf(largest, shared->highest[w][head]);
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const float highest = shared->highest[w][head];
    factors[w] = highest == -INFINITY ? 0.0f : expf(highest - largest);
    sum = fmaf(factors[w], shared->totals[w][head], sum);
  }
  if (warp < 2 && lane < 4) {
    shared->head_highest[head] = largest;
    shared->head_total[head] = sum;
  }
  for (int r = warp; r < kDim / 4; r += kWarps) {
    float column = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) column = fmaf(factors[w], shared->sums[w][r][lane], column);
    shared->columns[DecodeColumn<kDim>(head, ColumnOf<kDim>(r, lane / 4))] = column;
  }
  __syncthreads();
}

// Four columns of a head's result, from d on; eight lanes have a block of 32, and the whole warp
// comes here.
__device__ __forceinline__ void WriteFour(const AttentionArgs& args, int64_t row, int head, int d,
                                          float4 value, bool inside) {
  if (inside && args.out != nullptr && row < args.rows) {
    *reinterpret_cast<float4*>(args.out + (row * args.n_heads + head) * args.v.dim + d) = value;
  }
  if (args.planes.out == nullptr) return;
  const int64_t width = int64_t{args.n_heads} * args.v.dim;
  const int64_t block = static_cast<int64_t>(head) * (args.v.dim / 32) + d / 32;
  const int part = d % 32 / 4;
  const float4 rest =
      QuantizeFour(value, part, FindPlane(args.planes, width, row, 0, block), inside);
  if (args.planes.residual) {
    QuantizeFour(rest, part, FindPlane(args.planes, width, row, 1, block), inside);
  }
}

// Calls for each four columns of the block's heads, a thread each; lanes past the last come too.
template <int kDim, typename Function>
__device__ __forceinline__ void ForEachFour(int heads, const Function& function) {
  constexpr int kFours = kDim / 4;
  for (int begin = 0; begin < heads * kFours; begin += kDecodeThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const bool inside = i < heads * kFours;
    function(inside ? i / kFours : 0, inside ? i % kFours * 4 : 0, inside);
  }
}

// The heads of a row that has no cells, or of a row of planes that is absent.
template <int kDim>
__device__ __forceinline__ void WriteZeros(const AttentionArgs& args, int64_t row, int first_head,
                                           int heads) {
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    WriteFour(args, row, first_head + h, d, make_float4(0.0f, 0.0f, 0.0f, 0.0f), inside);
  });
}

// The only stripe of a row is its result: as CombineStripes adds up one.
template <int kDim>
__device__ __forceinline__ void FinishRow(const AttentionArgs& args, int64_t row, int first_head,
                                          int heads, const DecodeShared<kDim>& shared) {
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    const SinkScale sink =
        AddSink(args.sinks, first_head + h, shared.head_highest[h], shared.head_total[h]);
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[i] = fmaf(sink.keep, shared.columns[DecodeColumn<kDim>(h, d + i)], 0.0f) / sink.total;
    }
    WriteFour(args, row, first_head + h, d, make_float4(x[0], x[1], x[2], x[3]), inside);
  });
}

// Where a head's partial result lies: its columns, maximum and sum.
template <int kDim>
__device__ __forceinline__ float* FindPartial(const AttentionArgs& args, int64_t row, int head,
                                              int stripe) {
  return args.partials + ((row * args.n_heads + head) * kAttentionStripes + stripe) * (kDim + 4);
}

template <int kDim>
__device__ __forceinline__ void WritePartial(const AttentionArgs& args, int64_t row, int first_head,
                                             int heads, int stripe,
                                             const DecodeShared<kDim>& shared) {
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    if (!inside) return;
    float* to = FindPartial<kDim>(args, row, first_head + h, stripe);
    *reinterpret_cast<float4*>(to + d) = make_float4(
        shared.columns[DecodeColumn<kDim>(h, d)], shared.columns[DecodeColumn<kDim>(h, d + 1)],
        shared.columns[DecodeColumn<kDim>(h, d + 2)], shared.columns[DecodeColumn<kDim>(h, d + 3)]);
    if (d == 0) {
      *reinterpret_cast<float2*>(to + kDim) =
          make_float2(shared.head_highest[h], shared.head_total[h]);
    }
  });
}

// What the stripes of a row's heads weigh, a warp a head.
template <int kDim>
__device__ __forceinline__ void WeighStripes(const AttentionArgs& args, int64_t row, int first_head,
                                             int heads, int stripes,
                                             float (*weights)[kAttentionStripes], float* totals) {
  static_assert(kAttentionStripes == kWarp);
  const int h = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (h >= heads) return;
  // Not from the L1: another multiprocessor may have written it while this launch ran.
  const float2 part = lane < stripes
                          ? __ldcg(reinterpret_cast<const float2*>(
                                FindPartial<kDim>(args, row, first_head + h, lane) + kDim))
                          : make_float2(-INFINITY, 0.0f);
  const StripeScale scale = ScaleStripe(part.x, part.y, args.sinks, first_head + h);
  weights[h][lane] = scale.weight;
  if (lane == 0) totals[h] = scale.total;
}

// The stripes of a row's heads added up in their order, four columns a thread.
template <int kDim>
__device__ __forceinline__ void CombineStripes(const AttentionArgs& args, int64_t row,
                                               int first_head, int heads, int stripes,
                                               float (*weights)[kAttentionStripes], float* totals) {
  constexpr int kAhead = 16;  // stripes whose columns are under way together
  WeighStripes<kDim>(args, row, first_head, heads, stripes, weights, totals);
  __syncthreads();
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    const float* partials = FindPartial<kDim>(args, row, first_head + h, 0) + d;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int begin = 0; begin < stripes; begin += kAhead) {
      float4 columns[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (begin + i < stripes) {
          columns[i] = __ldcg(reinterpret_cast<const float4*>(partials + (begin + i) * (kDim + 4)));
        }
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (begin + i >= stripes) break;
        const float weight = weights[h][begin + i];
        sum.x = fmaf(weight, columns[i].x, sum.x);
        sum.y = fmaf(weight, columns[i].y, sum.y);
        sum.z = fmaf(weight, columns[i].z, sum.z);
        sum.w = fmaf(weight, columns[i].w, sum.w);
      }
    }
    const float total = totals[h];
    WriteFour(args, row, first_head + h, d,
              make_float4(sum.x / total, sum.y / total, sum.z / total, sum.w / total), inside);
  });
}

// Which heads of which row a block has.
struct DecodeBlock {
  int64_t row;
  int kv_head;
  int first_head;
  int heads;
  bool first_of_kv_head;

  __device__ explicit DecodeBlock(const AttentionArgs& args) {
    const int group = args.n_heads / args.n_kv_heads;
    const int blocks = (group + kDecodeHeads - 1) / kDecodeHeads;
    row = blockIdx.x;
    kv_head = static_cast<int>(blockIdx.y) / blocks;
    first_of_kv_head = static_cast<int>(blockIdx.y) % blocks == 0;
    first_head = kv_head * group + static_cast<int>(blockIdx.y) % blocks * kDecodeHeads;
    heads = min(kDecodeHeads, (kv_head + 1) * group - first_head);
  }
};

template <int kDim>
__device__ __forceinline__ void AttendStripe(const AttentionArgs& args, const VisibleCells& seen,
                                             const DecodeStripes& plan, int stripe, int kv_head,
                                             int own_cell, const DecodeShared<kDim>& shared,
                                             WarpCells<kDim> cells, KeyFragments<kDim>* keys,
                                             ValueFragments<kDim>* values, WarpState<kDim>* state) {
  constexpr int kStep = kStepCells;
  const int mine = plan.start + static_cast<int>(threadIdx.x) / kWarp * 16;
  const int end = min((stripe + 1) * plan.per_stripe, plan.steps);
  for (int s = stripe * plan.per_stripe; s < end; ++s) {
    const bool any = cells.high > cells.low;
    const WarpCells<kDim> now = cells;
    const bool more = s + 1 < end;
    if (more) cells = WarpCells<kDim>(args, seen, mine + (s + 1) * kStep, kv_head, own_cell);
    uint32_t weights[2];
    uint32_t rest[2];
    if (any) {
      now.TakeOwnKey(shared.own_k, keys);
      now.TakeOwnValue(shared.own_v, values);
      float scores[2][4] = {};
      keys->Multiply(shared.queries, scores);
      WeighCells<kDim>(args, scores, now.low, now.high, state, weights, rest);
    }
    if (more) cells.LoadKeys(keys);
    if (any) values->Multiply(weights, rest, state->sums);
    if (more) cells.LoadValues(values);
  }
}

// Whether this block is the last of the row's; the counter is 0 again then. What the block has
// written comes before its arrival, and what all others have is seen after the last one's.
template <int kDim>
__device__ __forceinline__ bool ArrivesLast(uint32_t* counter, int blocks,
                                            DecodeShared<kDim>* shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    shared->last_block = atomicAdd(counter, 1u) + 1 == static_cast<uint32_t>(blocks);
    if (shared->last_block) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return shared->last_block;
}

// Registers for two blocks a multiprocessor where that spills nothing.
template <int kDim>
__global__ void __launch_bounds__(kDecodeThreads, kDim <= 128 ? 2 : 1)
    AttentionDecodeKernel(const __grid_constant__ AttentionDecodeArgs all) {
  GridDependencyLaunch();
  GridDependencyWait();
  extern __shared__ __align__(16) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<DecodeShared<kDim>*>(shared_bytes);
  const AttentionArgs& args = all.attention;
  const DecodeBlock block(args);
  const int z = static_cast<int>(blockIdx.z);
  const int depth = static_cast<int>(gridDim.z);
  if (block.row >= args.rows) {  // a row of planes alone
    if (z == 0) WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
    return;
  }
  const VisibleCells seen = FindVisible(args, block.row);
  RowInputs<kDim> row(all, block.row, block.first_head, block.heads, block.kv_head);
  const DecodeStripes plan(seen);
  const bool empty = plan.stripes == 0;
  if (empty ? z > 0 : z >= plan.stripes) return;

  // The block of the last stripe has the row's own cell. The first step's loads go out before the
  // row is prepared.
  const bool owns = all.tail.k != nullptr && (empty || (plan.stripes - 1) % depth == z);
  const int own_cell = owns && row.cell >= 0 ? seen.high - 1 : -1;
  const int mine = plan.start + static_cast<int>(threadIdx.x) / kWarp * 16;
  WarpCells<kDim> cells(args, seen, mine + z * plan.per_stripe * kStepCells, block.kv_head,
                        own_cell);
  KeyFragments<kDim> keys;
  ValueFragments<kDim> values;
  cells.LoadKeys(&keys);
  cells.LoadValues(&values);
  PrepareRow<kDim>(all, block.kv_head, owns, block.first_of_kv_head, &row, &shared);
  if (empty) {
    WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
    return;
  }
  for (int stripe = z; stripe < plan.stripes; stripe += depth) {
    WarpState<kDim> state;
    if (stripe != z) {
      cells = WarpCells<kDim>(args, seen, mine + stripe * plan.per_stripe * kStepCells,
                              block.kv_head, own_cell);
      cells.LoadKeys(&keys);
      cells.LoadValues(&values);
    }
    AttendStripe<kDim>(args, seen, plan, stripe, block.kv_head, own_cell, shared, cells, &keys,
                       &values, &state);
    MeetWarps<kDim>(state, &shared);
    if (plan.stripes > 1 || all.counters == nullptr) {
      WritePartial<kDim>(args, block.row, block.first_head, block.heads, stripe, shared);
    }
  }
  if (all.counters == nullptr) return;
  if (plan.stripes == 1) {
    FinishRow<kDim>(args, block.row, block.first_head, block.heads, shared);
    return;
  }
  if (ArrivesLast<kDim>(all.counters + block.row * gridDim.y + blockIdx.y, min(depth, plan.stripes),
                        &shared)) {
    CombineStripes<kDim>(args, block.row, block.first_head, block.heads, plan.stripes,
                         shared.weights, shared.head_total);
  }
}

// The stripes of another launch, added up.
template <int kDim>
__global__ void __launch_bounds__(kDecodeThreads)
    DecodeCombineKernel(const __grid_constant__ AttentionDecodeArgs all) {
  GridDependencyLaunch();
  GridDependencyWait();
  __shared__ float weights[kDecodeHeads][kAttentionStripes];
  __shared__ float totals[kDecodeHeads];
  const AttentionArgs& args = all.attention;
  const DecodeBlock block(args);
  const VisibleCells seen =
      block.row >= args.rows ? VisibleCells{nullptr, 0, 0} : FindVisible(args, block.row);
  const DecodeStripes plan(seen);
  if (plan.stripes > 0) {
    CombineStripes<kDim>(args, block.row, block.first_head, block.heads, plan.stripes, weights,
                         totals);
  } else {
    WriteZeros<kDim>(args, block.row, block.first_head, block.heads);
  }
}

}  // namespace minfer::kernels::cuda
