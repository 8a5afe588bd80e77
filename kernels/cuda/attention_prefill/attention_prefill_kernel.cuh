// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes 64 rows of one query head, page by page (64 cells), with online softmax. 128
// threads: a warp owns 16 rows, all cells and all columns.
//
//   queries   fragments of mma in registers, loaded once through the memory of K
//   K, V      two pages each in shared memory, as halves, rows dim + 8 apart: the next one is
//             copied while this one is multiplied
//   scores    16 x 64 a warp in accumulators, in units of log2; they become the weights' fragments
//             without moving, and are masked only where a page is not seen whole
//   output    16 x dim a warp in accumulators, rescaled when a row's maximum grows
//
// Heads of more than 128 leave room for one page of each: the next K is copied while the weights
// are made and V is multiplied, the next V while the scores are; the queries stay in shared memory.
//
// The rows of a tile may belong to several sequences; each is walked apart, and the rows of the
// others see nothing of it. Cells beyond the longest row are zero in shared memory, so that a
// weight of 0 meets no NaN. Bound by the tensor cores and the exponentials.
#pragma once

#include <climits>

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/arch/ex2.cuh"
#include "kernels/cuda/arch/ldmatrix.cuh"
#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/attention_prefill/attention_prefill.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/sink.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kPrefillRows = 64;
inline constexpr int kPrefillThreads = 128;

template <int kDim>
inline constexpr bool kPrefillWide = kDim > 128;

template <int kDim>
struct PrefillShared {
  static constexpr int kPitch = kDim + 8;
  static constexpr int kPages = kPrefillWide<kDim> ? 1 : 2;
  alignas(16) __half k[kPages][kKvPageCells][kPitch];
  alignas(16) __half v[kPages][kKvPageCells][kPitch];
  alignas(16) __half q[kPrefillWide<kDim> ? kPrefillRows : 1][kPitch];
  int sequence[kPrefillRows];
  int low[kPrefillRows];
  int high[kPrefillRows];
};

// What each thread keeps of its two rows, lane / 4 and lane / 4 + 8 of the warp's sixteen.
template <int kDim>
struct PrefillState {
  uint32_t q[kPrefillWide<kDim> ? 1 : kDim / 16][4];
  float out[kDim / 8][4] = {};
  float highest[2] = {-INFINITY, -INFINITY};
  float total[2] = {0.0f, 0.0f};
};

// A page's cells [0, last) of one head as halves; the others become zero.
template <int kDim, KvFormat format>
__device__ __forceinline__ void LoadPage(const uint8_t* slab, int last, __half (*to)[kDim + 8]) {
  if constexpr (format == KvFormat::kF16) {
    constexpr int kChunks = kDim / 8;
    static_assert(kKvPageCells * kChunks % kPrefillThreads == 0);
#pragma unroll
    for (int step = 0; step < kKvPageCells * kChunks / kPrefillThreads; ++step) {
      const int i = step * kPrefillThreads + static_cast<int>(threadIdx.x);
      const int cell = i / kChunks;
      const int column = i % kChunks * 8;
      CpAsync16(&to[cell][column], slab + (cell * kDim + column) * 2, cell < last);
    }
  } else {
    constexpr int kChunks = kDim / 16;
    const auto* scales = reinterpret_cast<const __half*>(slab + KvPlaneBytes(format, kDim));
    for (int i = threadIdx.x; i < kKvPageCells * kChunks; i += kPrefillThreads) {
      const int cell = i / kChunks;
      const int column = i % kChunks * 16;
      int4 bytes = make_int4(0, 0, 0, 0);
      float scale = 0.0f;
      if (cell < last) {
        bytes = *reinterpret_cast<const int4*>(slab + cell * kDim + column);
        scale = __half2float(scales[cell * KvBlocks(kDim) + column / kKvBlock]);
      }
      const int words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
      for (int v = 0; v < 16; v += 2) {
        const auto first = static_cast<int8_t>(words[v / 4] >> (8 * (v % 4)));
        const auto second = static_cast<int8_t>(words[v / 4] >> (8 * (v % 4 + 1)));
        *reinterpret_cast<__half2*>(&to[cell][column + v]) = __floats2half2_rn(
            scale * static_cast<float>(first), scale * static_cast<float>(second));
      }
    }
  }
}

// The fragment of sixteen columns of the warp's rows.
template <int kDim>
__device__ __forceinline__ void LoadQuery(const __half (*rows)[kDim + 8], int i, uint32_t* q) {
  const int lane = threadIdx.x % kWarp;
  LdMatrix4(&rows[threadIdx.x / kWarp * 16 + lane % 16][16 * i + lane / 16 * 8], q);
}

template <int kDim>
__device__ __forceinline__ void LoadQueries(const AttentionArgs& args, int64_t row0, int head,
                                            PrefillShared<kDim>* shared,
                                            PrefillState<kDim>* state) {
  constexpr int kChunks = kDim / 4;
  __half(*rows)[kDim + 8] = kPrefillWide<kDim> ? shared->q : shared->k[0];
#pragma unroll 4
  for (int i = threadIdx.x; i < kPrefillRows * kChunks; i += kPrefillThreads) {
    const int row = i / kChunks;
    const int d = i % kChunks * 4;
    float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row0 + row < args.rows) {
      q = *reinterpret_cast<const float4*>(args.q + ((row0 + row) * args.n_heads + head) * kDim +
                                           d);
    }
    auto* to = reinterpret_cast<__half2*>(&rows[row][d]);
    to[0] = __halves2half2(ClampedHalf(q.x), ClampedHalf(q.y));
    to[1] = __halves2half2(ClampedHalf(q.z), ClampedHalf(q.w));
  }
  __syncthreads();
  if constexpr (!kPrefillWide<kDim>) {
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) LoadQuery<kDim>(rows, i, state->q[i]);
    __syncthreads();
  }
}

// scores = q k^T for the warp's rows and a page.
template <int kDim>
__device__ __forceinline__ void PrefillScores(const PrefillShared<kDim>& shared, int page,
                                              const PrefillState<kDim>& state, float (*scores)[4]) {
  const int lane = threadIdx.x % kWarp;
  const __half(*k)[kDim + 8] = shared.k[page];
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
    uint32_t q[4];
    if constexpr (kPrefillWide<kDim>) {
      LoadQuery<kDim>(shared.q, i, q);
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) q[r] = state.q[i][r];
    }
#pragma unroll
    for (int j = 0; j < kKvPageCells / 8; j += 2) {
      uint32_t b[4];
      LdMatrix4(&k[8 * j + lane / 16 * 8 + lane % 8][16 * i + lane / 8 % 2 * 8], b);
      MmaM16N8K16(q, b, scores[j]);
      MmaM16N8K16(q, b + 2, scores[j + 1]);
    }
  }
}

// A capped score, before it is scaled by log2(e); not inline, for it is rare and long.
static __device__ __noinline__ float CappedScore(float score, float scale, float softcap) {
  return softcap * tanhf(score * scale / softcap);
}

// Scores of a page for a warp's rows in units of log2.
template <int kCount>
__device__ __forceinline__ void ScaleScores(const AttentionArgs& args, float (*scores)[4]) {
  constexpr float kLog2E = 1.4426950408889634f;
  float scale = args.scale * kLog2E;
  if (args.softcap > 0.0f) {
#pragma unroll
    for (int i = 0; i < 4 * kCount; ++i) {
      scores[i / 4][i % 4] = CappedScore(scores[i / 4][i % 4], args.scale, args.softcap);
    }
    scale = kLog2E;
  }
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) scores[i / 4][i % 4] *= scale;
}

// Masks the scores of row `half` of the thread's two, and turns them into weights. With
// `whole` the row sees all cells of the page.
template <int kDim>
__device__ __forceinline__ void PrefillSoftmax(int half, bool whole, int low, int high,
                                               PrefillState<kDim>* state, float (*scores)[4]) {
  const int lane = threadIdx.x % kWarp;
  float largest = state->highest[half];
#pragma unroll
  for (int j = 0; j < kKvPageCells / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& score = scores[j][2 * half + e];
      if (!whole) {
        const int cell = 8 * j + lane % 4 * 2 + e;
        if (cell < low || cell >= high) score = -INFINITY;
      }
      largest = fmaxf(largest, score);
    }
  }
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  // A row that has seen nothing yet: its weights and its factor become 0.
  const float base = largest == -INFINITY ? 0.0f : largest;
  const float factor = Ex2(state->highest[half] - base);
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kKvPageCells / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& score = scores[j][2 * half + e];
      score = Ex2(score - base);
      sum += score;
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  state->total[half] = state->total[half] * factor + sum;
  state->highest[half] = largest;
#pragma unroll
  for (int d = 0; d < kDim / 8; ++d) {
    state->out[d][2 * half] *= factor;
    state->out[d][2 * half + 1] *= factor;
  }
}

__device__ __forceinline__ uint32_t HalfPair(float a, float b) {
  const __half2 pair = __floats2half2_rn(a, b);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// out += weights v.
template <int kDim>
__device__ __forceinline__ void PrefillValues(const __half (*v)[kDim + 8],
                                              const float (*weights)[4],
                                              PrefillState<kDim>* state) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int c = 0; c < kKvPageCells / 16; ++c) {
    const float* first = weights[2 * c];
    const float* second = weights[2 * c + 1];
    const uint32_t a[4] = {HalfPair(first[0], first[1]), HalfPair(first[2], first[3]),
                           HalfPair(second[0], second[1]), HalfPair(second[2], second[3])};
#pragma unroll
    for (int d = 0; d < kDim / 8; d += 2) {
      uint32_t b[4];
      LdMatrix4Transposed(&v[16 * c + lane % 16][8 * d + lane / 16 * 8], b);
      MmaM16N8K16(a, b, state->out[d]);
      MmaM16N8K16(a, b + 2, state->out[d + 1]);
    }
  }
}

// The cells that rows [begin, end) of the tile see, together; the same in every thread.
template <int kDim>
__device__ __forceinline__ int2 PrefillRange(const PrefillShared<kDim>& shared, int begin,
                                             int end) {
  int low = INT_MAX;
  int high = 0;
  for (int r = begin + static_cast<int>(threadIdx.x) % kWarp; r < end; r += kWarp) {
    low = min(low, shared.low[r]);
    high = max(high, shared.high[r]);
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    low = min(low, __shfl_xor_sync(0xffffffffu, low, offset));
    high = max(high, __shfl_xor_sync(0xffffffffu, high, offset));
  }
  return make_int2(low, high);
}

// The end of the rows that have the sequence of row `begin`; the same in every thread.
template <int kDim>
__device__ __forceinline__ int SequenceEnd(const PrefillShared<kDim>& shared, int begin) {
  const int sequence = shared.sequence[begin];
  for (int first = begin; first < kPrefillRows; first += kWarp) {
    const int r = first + static_cast<int>(threadIdx.x) % kWarp;
    const bool other = r >= kPrefillRows || shared.sequence[r] != sequence;
    const unsigned others = __ballot_sync(0xffffffffu, other);
    if (others != 0) return min(first + __ffs(static_cast<int>(others)) - 1, kPrefillRows);
  }
  return kPrefillRows;
}

// The scores of a page become its weights; cells that a row does not see weigh 0.
template <int kDim>
__device__ __forceinline__ void WeighPage(const AttentionArgs& args, int start, const int* low,
                                          const int* high, PrefillState<kDim>* state,
                                          float (*scores)[4]) {
  ScaleScores<kKvPageCells / 8>(args, scores);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const bool whole = low[half] <= start && high[half] >= start + kKvPageCells;
    if (__all_sync(0xffffffffu, whole)) {
      PrefillSoftmax<kDim>(half, true, 0, 0, state, scores);
    } else {
      PrefillSoftmax<kDim>(half, false, low[half] - start, high[half] - start, state, scores);
    }
  }
}

// Pages [first, last), two of them in shared memory.
template <int kDim, typename LoadK, typename LoadV>
__device__ __forceinline__ void WalkPages(const AttentionArgs& args, int first, int last,
                                          const int* low, const int* high, const LoadK& load_k,
                                          const LoadV& load_v, PrefillShared<kDim>* shared,
                                          PrefillState<kDim>* state) {
  const auto load = [&](int p) {
    load_k(p, shared->k[p % 2]);
    load_v(p, shared->v[p % 2]);
    CpAsyncCommit();
  };
  if (first < last) load(first);
  for (int p = first; p < last; ++p) {
    CpAsyncWait<0>();
    __syncthreads();
    if (p + 1 < last) load(p + 1);
    const int start = p * kKvPageCells;
    if (!__any_sync(0xffffffffu, max(high[0], high[1]) > start)) continue;
    float scores[kKvPageCells / 8][4] = {};
    PrefillScores<kDim>(*shared, p % 2, *state, scores);
    WeighPage<kDim>(args, start, low, high, state, scores);
    PrefillValues<kDim>(shared->v[p % 2], scores, state);
  }
}

// The same with room for one page of K and one of V.
template <int kDim, typename LoadK, typename LoadV>
__device__ __forceinline__ void WalkWidePages(const AttentionArgs& args, int first, int last,
                                              const int* low, const int* high, const LoadK& load_k,
                                              const LoadV& load_v, PrefillShared<kDim>* shared,
                                              PrefillState<kDim>* state) {
  if (first < last) {
    load_k(first, shared->k[0]);
    CpAsyncCommit();
    load_v(first, shared->v[0]);
    CpAsyncCommit();
  }
  for (int p = first; p < last; ++p) {
    const int start = p * kKvPageCells;
    const bool sees = __any_sync(0xffffffffu, max(high[0], high[1]) > start);
    CpAsyncWait<1>();
    __syncthreads();
    float scores[kKvPageCells / 8][4] = {};
    if (sees) PrefillScores<kDim>(*shared, 0, *state, scores);
    __syncthreads();
    if (p + 1 < last) load_k(p + 1, shared->k[0]);
    CpAsyncCommit();
    if (sees) WeighPage<kDim>(args, start, low, high, state, scores);
    CpAsyncWait<1>();
    __syncthreads();
    if (sees) PrefillValues<kDim>(shared->v[0], scores, state);
    __syncthreads();
    if (p + 1 < last) load_v(p + 1, shared->v[0]);
    CpAsyncCommit();
  }
  CpAsyncWait<0>();
}

// Rows [begin, end) of the tile, which share a sequence, over its pages; the rows beside them see
// nothing.
template <int kDim, KvFormat k_format, KvFormat v_format>
__device__ __forceinline__ void WalkSequence(const AttentionArgs& args, int kv_head, int begin,
                                             int end, PrefillShared<kDim>* shared,
                                             PrefillState<kDim>* state) {
  const int2 range = PrefillRange<kDim>(*shared, begin, end);
  const int row = threadIdx.x / kWarp * 16 + threadIdx.x % kWarp / 4;
  const int32_t* pages = args.page_table + shared->sequence[begin] * args.page_table_columns;
  const int first = range.x / kKvPageCells;
  const int last = (range.y + kKvPageCells - 1) / kKvPageCells;
  const auto load_k = [&](int p, __half(*to)[kDim + 8]) {
    LoadPage<kDim, k_format>(
        args.k.pages + pages[p] * args.k.page_bytes + kv_head * KvSlabBytes(k_format, kDim),
        min(kKvPageCells, range.y - p * kKvPageCells), to);
  };
  const auto load_v = [&](int p, __half(*to)[kDim + 8]) {
    LoadPage<kDim, v_format>(
        args.v.pages + pages[p] * args.v.page_bytes + kv_head * KvSlabBytes(v_format, kDim),
        min(kKvPageCells, range.y - p * kKvPageCells), to);
  };
  int low[2];
  int high[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = row + 8 * half;
    const bool mine = r >= begin && r < end;
    low[half] = mine ? shared->low[r] : 0;
    high[half] = mine ? shared->high[r] : 0;
  }
  // What a sequence before this one has loaded may still be read.
  __syncthreads();
  if constexpr (kPrefillWide<kDim>) {
    WalkWidePages<kDim>(args, first, last, low, high, load_k, load_v, shared, state);
  } else {
    WalkPages<kDim>(args, first, last, low, high, load_k, load_v, shared, state);
  }
}

template <int kDim, KvFormat k_format, KvFormat v_format>
__global__ void __launch_bounds__(kPrefillThreads) AttentionPrefillKernel(AttentionArgs args) {
  extern __shared__ __align__(128) uint8_t shared_bytes[];
  auto& shared = *reinterpret_cast<PrefillShared<kDim>*>(shared_bytes);
  PrefillState<kDim> state;
  // The last rows see the most, so they begin first.
  const int64_t row0 = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kPrefillRows;
  const int head = static_cast<int>(blockIdx.y);
  const int kv_head = head / (args.n_heads / args.n_kv_heads);
  if (threadIdx.x < kPrefillRows) {
    const int64_t row = row0 + threadIdx.x;
    const int64_t limit = args.page_table_columns * kKvPageCells;
    int sequence = row < args.rows ? args.row_sequence[row] : -1;
    int high = row < args.rows ? args.row_length[row] : 0;
    if (sequence < 0 || sequence >= args.page_table_rows || high < 0) {
      sequence = -1;
      high = 0;
    }
    if (high > limit) high = static_cast<int>(limit);
    shared.sequence[threadIdx.x] = sequence;
    shared.high[threadIdx.x] = high;
    shared.low[threadIdx.x] = args.window > 0 && high > args.window ? high - args.window : 0;
  }
  LoadQueries<kDim>(args, row0, head, &shared, &state);
  for (int begin = 0; begin < kPrefillRows;) {
    const int end = SequenceEnd<kDim>(shared, begin);
    if (shared.sequence[begin] >= 0) {
      WalkSequence<kDim, k_format, v_format>(args, kv_head, begin, end, &shared, &state);
    }
    begin = end;
  }
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t row = row0 + threadIdx.x / kWarp * 16 + lane / 4 + 8 * half;
    if (row >= args.rows) continue;
    float* out = args.out + (row * args.n_heads + head) * kDim;
    const bool empty = shared.high[row - row0] <= shared.low[row - row0];
    constexpr float kLn2 = 0.6931471805599453f;
    const SinkScale sink = AddSink(args.sinks, head, state.highest[half] * kLn2, state.total[half]);
    const float factor = sink.keep / sink.total;
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
      const float* sums = &state.out[d][2 * half];
      *reinterpret_cast<float2*>(out + 8 * d + lane % 4 * 2) =
          empty ? make_float2(0.0f, 0.0f) : make_float2(sums[0] * factor, sums[1] * factor);
    }
  }
}

}  // namespace minfer::kernels::cuda
