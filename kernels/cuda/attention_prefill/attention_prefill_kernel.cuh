// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes 64 rows of one query head, page by page (64 cells), with online softmax. 128
// threads: a warp owns 16 rows, all cells and all columns.
//
//   queries   fragments of mma in registers, loaded once through the memory of K
//   K, V      a page each in shared memory, as halves, rows dim + 8 apart
//   scores    16 x 64 a warp in accumulators; they become the weights' fragments without moving
//   output    16 x dim a warp in accumulators, rescaled when a row's maximum grows
//
// The rows of a tile may belong to several sequences; each is walked apart, and the rows of the
// others see nothing of it. Cells beyond the longest row are zero in shared memory, so that a
// weight of 0 meets no NaN. Bound by the tensor cores and the exponentials.
#pragma once

#include "kernels/cuda/arch/cp_async.cuh"
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
struct PrefillShared {
  static constexpr int kPitch = kDim + 8;
  alignas(16) __half k[kKvPageCells][kPitch];
  alignas(16) __half v[kKvPageCells][kPitch];
  int sequence[kPrefillRows];
  int low[kPrefillRows];
  int high[kPrefillRows];
};

// What each thread keeps of its two rows, lane / 4 and lane / 4 + 8 of the warp's sixteen.
template <int kDim>
struct PrefillState {
  uint32_t q[kDim / 16][4];
  float out[kDim / 8][4] = {};
  float highest[2] = {-INFINITY, -INFINITY};
  float total[2] = {0.0f, 0.0f};
};

// A page's cells [0, last) of one head as halves; the others become zero.
template <int kDim, KvFormat format>
__device__ __forceinline__ void LoadPage(const uint8_t* slab, int last, __half (*to)[kDim + 8]) {
  if constexpr (format == KvFormat::kF16) {
    constexpr int kChunks = kDim / 8;
    for (int i = threadIdx.x; i < kKvPageCells * kChunks; i += kPrefillThreads) {
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

template <int kDim>
__device__ __forceinline__ void LoadQueries(const AttentionArgs& args, int64_t row0, int head,
                                            PrefillShared<kDim>* shared,
                                            PrefillState<kDim>* state) {
  for (int i = threadIdx.x; i < kPrefillRows * kDim; i += kPrefillThreads) {
    const int row = i / kDim;
    const int d = i % kDim;
    const float q =
        row0 + row < args.rows ? args.q[((row0 + row) * args.n_heads + head) * kDim + d] : 0.0f;
    shared->k[row][d] = ClampedHalf(q);
  }
  __syncthreads();
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
    LdMatrix4(&shared->k[16 * warp + lane % 16][16 * i + lane / 16 * 8], state->q[i]);
  }
}

// scores = q k^T for the warp's rows and a page.
template <int kDim>
__device__ __forceinline__ void PrefillScores(const PrefillShared<kDim>& shared,
                                              const PrefillState<kDim>& state, float (*scores)[4]) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kKvPageCells / 8; j += 2) {
      uint32_t b[4];
      LdMatrix4(&shared.k[8 * j + lane / 16 * 8 + lane % 8][16 * i + lane / 8 % 2 * 8], b);
      MmaM16N8K16(state.q[i], b, scores[j]);
      MmaM16N8K16(state.q[i], b + 2, scores[j + 1]);
    }
  }
}

// Scales and masks the scores of row `half` of the thread's two, and turns them into weights.
template <int kDim>
__device__ __forceinline__ void PrefillSoftmax(const AttentionArgs& args, int half, int low,
                                               int high, PrefillState<kDim>* state,
                                               float (*scores)[4]) {
  const int lane = threadIdx.x % kWarp;
  float largest = state->highest[half];
#pragma unroll
  for (int j = 0; j < kKvPageCells / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int cell = 8 * j + lane % 4 * 2 + e;
      float score = scores[j][2 * half + e] * args.scale;
      if (args.softcap > 0.0f) score = args.softcap * tanhf(score / args.softcap);
      scores[j][2 * half + e] = cell >= low && cell < high ? score : -INFINITY;
      largest = fmaxf(largest, scores[j][2 * half + e]);
    }
  }
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  const float factor =
      state->highest[half] == -INFINITY ? 0.0f : expf(state->highest[half] - largest);
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kKvPageCells / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& score = scores[j][2 * half + e];
      score = score == -INFINITY ? 0.0f : expf(score - largest);
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
__device__ __forceinline__ void PrefillValues(const PrefillShared<kDim>& shared,
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
      LdMatrix4Transposed(&shared.v[16 * c + lane % 16][8 * d + lane / 16 * 8], b);
      MmaM16N8K16(a, b, state->out[d]);
      MmaM16N8K16(a, b + 2, state->out[d + 1]);
    }
  }
}

// Rows [begin, end) of the tile, which share a sequence, over its pages; the rows beside them see
// nothing.
template <int kDim, KvFormat k_format, KvFormat v_format>
__device__ __forceinline__ void WalkSequence(const AttentionArgs& args, int kv_head, int begin,
                                             int end, PrefillShared<kDim>* shared,
                                             PrefillState<kDim>* state) {
  int low = shared->low[begin];
  int high = 0;
  for (int r = begin; r < end; ++r) {
    low = min(low, shared->low[r]);
    high = max(high, shared->high[r]);
  }
  const int row = threadIdx.x / kWarp * 16 + threadIdx.x % kWarp / 4;
  const int32_t* pages = args.page_table + shared->sequence[begin] * args.page_table_columns;
  for (int p = low / kKvPageCells; p * kKvPageCells < high; ++p) {
    const int start = p * kKvPageCells;
    const int last = min(kKvPageCells, high - start);
    const int64_t page = pages[p];
    __syncthreads();
    LoadPage<kDim, k_format>(
        args.k.pages + page * args.k.page_bytes + kv_head * KvSlabBytes(k_format, kDim), last,
        shared->k);
    LoadPage<kDim, v_format>(
        args.v.pages + page * args.v.page_bytes + kv_head * KvSlabBytes(v_format, kDim), last,
        shared->v);
    CpAsyncCommit();
    CpAsyncWait<0>();
    __syncthreads();
    float scores[kKvPageCells / 8][4] = {};
    PrefillScores<kDim>(*shared, *state, scores);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = row + 8 * half;
      const bool mine = r >= begin && r < end;
      PrefillSoftmax<kDim>(args, half, mine ? shared->low[r] - start : 0,
                           mine ? shared->high[r] - start : 0, state, scores);
    }
    PrefillValues<kDim>(*shared, scores, state);
  }
}

template <int kDim, KvFormat k_format, KvFormat v_format>
__global__ void __launch_bounds__(kPrefillThreads) AttentionPrefillKernel(AttentionArgs args) {
  __shared__ PrefillShared<kDim> shared;
  PrefillState<kDim> state;
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) * kPrefillRows;
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
    const int sequence = shared.sequence[begin];
    int end = begin + 1;
    while (end < kPrefillRows && shared.sequence[end] == sequence) ++end;
    if (sequence >= 0) {
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
    const SinkScale sink = AddSink(args.sinks, head, state.highest[half], state.total[half]);
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        out[8 * d + lane % 4 * 2 + e] =
            empty ? 0.0f : state.out[d][2 * half + e] * sink.keep / sink.total;
      }
    }
  }
}

}  // namespace minfer::kernels::cuda
