// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes one row and up to kHeads query heads of one KV head, over the pages of one
// stripe. 128 threads; page by page:
//
//   scores    eight lanes a cell, four cells a warp: each lane reads 16 bytes of K in turn and
//             multiplies them with the queries, which lie in shared memory as f32
//   softmax   a warp a head: running maximum and sum, the page's weights to shared memory
//   values    a thread owns columns t, t + 128, ... of V for all heads
//
// Bound by the bytes of K and V where rows are few. Shared memory: queries kHeads x padded, scores
// kHeads x 64, factors kHeads.
#pragma once

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/sink.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kLanesPerCell = 8;

// Elements of K in 16 bytes.
template <KvFormat format>
inline constexpr int kChunk = 16 / KvElementBytes(format);

// Chunk c of a cell's row as floats; `scales` are those of the cell.
template <KvFormat format>
__device__ __forceinline__ void LoadChunk(const uint8_t* row, const __half* scales, int c,
                                          float* out) {
  const int4 bytes = reinterpret_cast<const int4*>(row)[c];
  const int words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
  if constexpr (format == KvFormat::kF32) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = __int_as_float(words[i]);
  } else if constexpr (format == KvFormat::kF16) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const auto half = static_cast<unsigned short>(words[i / 2] >> (16 * (i & 1)));
      out[i] = __half2float(__ushort_as_half(half));
    }
  } else {
    const float scale = __half2float(scales[c / 2]);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      out[i] = scale * static_cast<float>(static_cast<int8_t>(words[i / 4] >> (8 * (i & 3))));
    }
  }
}

template <KvFormat format>
__device__ __forceinline__ float LoadElement(const uint8_t* slab, int cell, int d, int dim) {
  const int at = cell * KvPadded(dim) + d;
  if constexpr (format == KvFormat::kF32) return reinterpret_cast<const float*>(slab)[at];
  if constexpr (format == KvFormat::kF16) {
    return __half2float(reinterpret_cast<const __half*>(slab)[at]);
  }
  const auto* scales = reinterpret_cast<const __half*>(slab + KvPlaneBytes(format, dim));
  return __half2float(scales[cell * KvBlocks(dim) + d / kKvBlock]) *
         static_cast<float>(reinterpret_cast<const int8_t*>(slab)[at]);
}

// What a block attends: cells [low, high) of a row.
struct VisibleCells {
  const int32_t* pages;
  int low;
  int high;
};

__device__ __forceinline__ VisibleCells FindVisible(const AttentionArgs& args, int64_t row) {
  const int sequence = args.row_sequence[row];
  const int64_t limit = args.page_table_columns * kKvPageCells;
  int high = args.row_length[row];
  if (sequence < 0 || sequence >= args.page_table_rows || high < 0) high = 0;
  if (high > limit) high = static_cast<int>(limit);
  const int low = args.window > 0 && high > args.window ? high - args.window : 0;
  return {args.page_table + (high > 0 ? sequence * args.page_table_columns : 0), low, high};
}

// Scores of cells [first, last) of a page, for all heads of the block.
template <KvFormat format, int kHeads>
__device__ __forceinline__ void ScorePage(const AttentionArgs& args, const uint8_t* slab, int first,
                                          int last, const float* queries, float* scores) {
  const int dim = args.k.dim;
  const int padded = KvPadded(dim);
  const int part = threadIdx.x % kLanesPerCell;
  const auto* scales = reinterpret_cast<const __half*>(slab + KvPlaneBytes(format, dim));
  for (int base = 0; base < kKvPageCells; base += kAttentionThreads / kLanesPerCell) {
    const int cell = base + threadIdx.x / kLanesPerCell;
    const bool seen = cell >= first && cell < last;
    float sums[kHeads];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) sums[h] = 0.0f;
    if (seen) {
      const uint8_t* row = slab + static_cast<int64_t>(cell) * padded * KvElementBytes(format);
      for (int c = part; c < padded / kChunk<format>; c += kLanesPerCell) {
        float k[kChunk<format>];
        LoadChunk<format>(row, scales + cell * KvBlocks(dim), c, k);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          const float* q = queries + h * padded + c * kChunk<format>;
#pragma unroll
          for (int i = 0; i < kChunk<format>; ++i) sums[h] = fmaf(q[i], k[i], sums[h]);
        }
      }
    }
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
#pragma unroll
      for (int offset = kLanesPerCell / 2; offset > 0; offset /= 2) {
        sums[h] += __shfl_xor_sync(0xffffffffu, sums[h], offset);
      }
      if (part != 0) continue;
      float score = sums[h] * args.scale;
      if (args.softcap > 0.0f) score = args.softcap * tanhf(score / args.softcap);
      scores[h * kKvPageCells + cell] = seen ? score : -INFINITY;
    }
  }
}

// Turns a head's scores into weights against the new maximum; returns what the sums so far are to
// be multiplied with.
__device__ __forceinline__ float SoftmaxPage(float* scores, float* highest, float* total) {
  const int lane = threadIdx.x % kWarp;
  const float s0 = scores[lane];
  const float s1 = scores[lane + kWarp];
  const float largest = fmaxf(*highest, WarpMax(fmaxf(s0, s1)));
  // A masked cell weighs exactly 0, also where nothing has been seen yet; a NaN stays one.
  const float w0 = s0 == -INFINITY ? 0.0f : expf(s0 - largest);
  const float w1 = s1 == -INFINITY ? 0.0f : expf(s1 - largest);
  scores[lane] = w0;
  scores[lane + kWarp] = w1;
  const float factor = *highest == -INFINITY ? 0.0f : expf(*highest - largest);
  *total = *total * factor + WarpSum(w0 + w1);
  *highest = largest;
  return factor;
}

template <KvFormat k_format, KvFormat v_format, int kHeads, int kColumns>
__global__ void __launch_bounds__(kAttentionThreads) AttentionKernel(AttentionArgs args) {
  extern __shared__ float shared[];
  const int padded = KvPadded(args.k.dim);
  float* queries = shared;
  float* scores = queries + kHeads * padded;
  float* factors = scores + kHeads * kKvPageCells;
  float* totals = factors + kHeads;
  const int64_t row = blockIdx.x;
  const int group = args.n_heads / args.n_kv_heads;
  const int parts = (group + kHeads - 1) / kHeads;
  const int kv_head = blockIdx.y / parts;
  const int first_head = kv_head * group + static_cast<int>(blockIdx.y) % parts * kHeads;
  const int heads = min(kHeads, (kv_head + 1) * group - first_head);

  for (int i = threadIdx.x; i < kHeads * padded; i += kAttentionThreads) {
    const int h = i / padded;
    const int d = i % padded;
    queries[i] = h < heads && d < args.k.dim
                     ? args.q[(row * args.n_heads + first_head + h) * args.k.dim + d]
                     : 0.0f;
  }
  float sums[kHeads][kColumns] = {};
  constexpr int kHeadsPerWarp = (kHeads + 3) / 4;
  float highest[kHeadsPerWarp];
  float total[kHeadsPerWarp];
#pragma unroll
  for (int i = 0; i < kHeadsPerWarp; ++i) {
    highest[i] = -INFINITY;
    total[i] = 0.0f;
  }
  const int warp = threadIdx.x / kWarp;
  const VisibleCells seen = FindVisible(args, row);
  const int first_page = seen.low / kKvPageCells;
  const int pages = (seen.high + kKvPageCells - 1) / kKvPageCells - first_page;
  const int stripe = static_cast<int>(blockIdx.z);
  const int per_stripe = (pages + static_cast<int>(gridDim.z) - 1) / static_cast<int>(gridDim.z);
  const int end = min(pages, (stripe + 1) * per_stripe);
  for (int p = stripe * per_stripe; p < end; ++p) {
    const int page_start = (first_page + p) * kKvPageCells;
    const int first = max(0, seen.low - page_start);
    const int last = min(kKvPageCells, seen.high - page_start);
    const int64_t page = seen.pages[first_page + p];
    const uint8_t* k =
        args.k.pages + page * args.k.page_bytes + kv_head * KvSlabBytes(k_format, args.k.dim);
    const uint8_t* v =
        args.v.pages + page * args.v.page_bytes + kv_head * KvSlabBytes(v_format, args.v.dim);
    __syncthreads();
    ScorePage<k_format, kHeads>(args, k, first, last, queries, scores);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHeadsPerWarp; ++i) {
      const int h = warp + 4 * i;
      if (h >= kHeads) continue;
      const float factor = SoftmaxPage(scores + h * kKvPageCells, &highest[i], &total[i]);
      if (threadIdx.x % kWarp == 0) factors[h] = factor;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int d = threadIdx.x + c * kAttentionThreads;
      if (d >= args.v.dim) continue;
#pragma unroll
      for (int h = 0; h < kHeads; ++h) sums[h][c] *= factors[h];
#pragma unroll 4
      for (int cell = first; cell < last; ++cell) {
        const float value = LoadElement<v_format>(v, cell, d, args.v.dim);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          sums[h][c] = fmaf(scores[h * kKvPageCells + cell], value, sums[h][c]);
        }
      }
    }
  }
  // The last page's factors may still be read: warps without columns of V are here first.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kHeadsPerWarp; ++i) {
    const int h = warp + 4 * i;
    if (h >= kHeads || threadIdx.x % kWarp != 0) continue;
    totals[h] = total[i];
    factors[h] = highest[i];
  }
  __syncthreads();
  const int64_t at = row * args.n_heads + first_head;
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= heads) break;
    if (args.partials == nullptr) {
      const SinkScale sink = AddSink(args.sinks, first_head + h, factors[h], totals[h]);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int d = threadIdx.x + c * kAttentionThreads;
        if (d >= args.v.dim) continue;
        args.out[(at + h) * args.v.dim + d] =
            seen.high > seen.low ? sums[h][c] * sink.keep / sink.total : 0.0f;
      }
      continue;
    }
    // A partial: maximum, sum, then the columns; those of an empty stripe are not read.
    float* to = args.partials + ((at + h) * kAttentionStripes + stripe) * (args.v.dim + 2);
    if (threadIdx.x == 0) {
      to[0] = factors[h];
      to[1] = totals[h];
    }
    if (stripe * per_stripe >= end) continue;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int d = threadIdx.x + c * kAttentionThreads;
      if (d < args.v.dim) to[2 + d] = sums[h][c];
    }
  }
}

// A block a row and head: each partial counts exp(its maximum - the largest), empty ones nothing.
__global__ void __launch_bounds__(kAttentionThreads) CombineKernel(AttentionArgs args) {
  __shared__ float weights[kAttentionStripes];
  __shared__ float shared_total;
  static_assert(kAttentionStripes == kWarp);
  const int64_t at = blockIdx.x;
  const int stride = args.v.dim + 2;
  const float* partials = args.partials + at * kAttentionStripes * stride;
  if (threadIdx.x < kWarp) {
    const float highest = partials[threadIdx.x * stride];
    const float total = partials[threadIdx.x * stride + 1];
    const float largest = WarpMax(highest);
    const bool empty = highest == -INFINITY;
    const float weight = empty ? 0.0f : expf(highest - largest);
    const float sum = WarpSum(empty ? 0.0f : weight * total);
    const SinkScale sink = AddSink(args.sinks, static_cast<int>(at % args.n_heads), largest, sum);
    weights[threadIdx.x] = weight * sink.keep;
    if (threadIdx.x == 0) shared_total = sink.total;
  }
  __syncthreads();
  const VisibleCells seen = FindVisible(args, at / args.n_heads);
  const int pages = seen.high <= seen.low
                        ? 0
                        : (seen.high + kKvPageCells - 1) / kKvPageCells - seen.low / kKvPageCells;
  const int per_stripe = (pages + kAttentionStripes - 1) / kAttentionStripes;
  const int stripes = per_stripe == 0 ? 0 : (pages + per_stripe - 1) / per_stripe;
  for (int d = threadIdx.x; d < args.v.dim; d += kAttentionThreads) {
    float sum = 0.0f;
    for (int s = 0; s < stripes; ++s) sum = fmaf(weights[s], partials[s * stride + 2 + d], sum);
    args.out[at * args.v.dim + d] = stripes > 0 ? sum / shared_total : 0.0f;
  }
}

}  // namespace minfer::kernels::cuda
