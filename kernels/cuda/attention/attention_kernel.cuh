// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes one row and up to kHeads query heads of one KV head, over the pages of one
// stripe. 128 threads; page by page:
//
//   values    a lane asks for its 16 bytes of V of up to eight cells, before anything else
//   scores    eight lanes a cell, sixteen cells at once: each lane reads 16 bytes of K of its four
//             cells in turn and multiplies them with the queries, which lie in shared memory as f32
//   softmax   a warp a head: running maximum and sum, the page's weights to shared memory
//   values    lanes that share columns take every G-th cell; their sums meet after the last page
//
// Bound by latency where contexts are short, by the bytes of K and V where they are long. Shared
// memory: factors and totals of kHeads, then queries kHeads x padded and scores kHeads x 64, whose
// place the sums of the lanes take at the end.
#pragma once

#include <algorithm>

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/stripes.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/sink.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kLanesPerCell = 8;

// Elements of K in 16 bytes.
template <KvFormat format>
inline constexpr int kChunk = 16 / KvElementBytes(format);

// A chunk of K as floats; `scale` is that of its block.
template <KvFormat format>
__device__ __forceinline__ void DecodeChunk(int4 bytes, float scale, float* out) {
  const int words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
  for (int i = 0; i < kChunk<format>; ++i) {
    if constexpr (format == KvFormat::kF32) {
      out[i] = __int_as_float(words[i]);
    } else if constexpr (format == KvFormat::kF16) {
      const auto half = static_cast<unsigned short>(words[i / 2] >> (16 * (i & 1)));
      out[i] = __half2float(__ushort_as_half(half));
    } else {
      out[i] = scale * static_cast<float>(static_cast<int8_t>(words[i / 4] >> (8 * (i & 3))));
    }
  }
}

// Elements of V that a lane owns.
template <KvFormat format>
inline constexpr int kOwned = format == KvFormat::kF32 ? 4 : 8;
// Cells whose values a lane asks for at once.
inline constexpr int kAhead = 8;

// A lane's elements of one cell, as they are stored.
template <KvFormat format>
struct StoredValues {
  int4 words = {};
  float scale = 0.0f;

  __device__ void Load(const uint8_t* slab, int cell, int lane, int dim) {
    const int64_t at = static_cast<int64_t>(cell) * KvPadded(dim) + lane * kOwned<format>;
    const uint8_t* from = slab + at * KvElementBytes(format);
    if constexpr (format == KvFormat::kQ8_0) {
      const int2 half = *reinterpret_cast<const int2*>(from);
      words.x = half.x;
      words.y = half.y;
      const auto* scales = reinterpret_cast<const __half*>(slab + KvPlaneBytes(format, dim));
      scale = __half2float(scales[cell * KvBlocks(dim) + lane * kOwned<format> / kKvBlock]);
    } else {
      words = *reinterpret_cast<const int4*>(from);
    }
  }
  __device__ void Decode(float* out) const {
    const int all[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < kOwned<format>; ++i) {
      if constexpr (format == KvFormat::kF32) {
        out[i] = __int_as_float(all[i]);
      } else if constexpr (format == KvFormat::kF16) {
        const auto half = static_cast<unsigned short>(all[i / 2] >> (16 * (i & 1)));
        out[i] = __half2float(__ushort_as_half(half));
      } else {
        out[i] = scale * static_cast<float>(static_cast<int8_t>(all[i / 4] >> (8 * (i & 3))));
      }
    }
  }
};

// The sum over eight lanes for head `part`: each step hands half of the heads to the other lane, so
// that seven additions do what would take 24, in the same order.
__device__ __forceinline__ float SumForHead(const float* sums, int part) {
  float four[4];
  float two[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool high = (part & 4) != 0;
    const float kept = high ? sums[4 + i] : sums[i];
    four[i] = kept + __shfl_xor_sync(0xffffffffu, high ? sums[i] : sums[4 + i], 4);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool high = (part & 2) != 0;
    const float kept = high ? four[2 + i] : four[i];
    two[i] = kept + __shfl_xor_sync(0xffffffffu, high ? four[i] : four[2 + i], 2);
  }
  const bool high = (part & 1) != 0;
  const float kept = high ? two[1] : two[0];
  return kept + __shfl_xor_sync(0xffffffffu, high ? two[0] : two[1], 1);
}

// Scores of cells [first, last) of a page, for all heads of the block.
template <KvFormat format, int kHeads>
__device__ __forceinline__ void ScorePage(const AttentionArgs& args, const uint8_t* slab, int first,
                                          int last, const float* queries, float* scores) {
  constexpr int kAtOnce = kAttentionThreads / kLanesPerCell;
  constexpr int kCells = kKvPageCells / kAtOnce;
  const int dim = args.k.dim;
  const int padded = KvPadded(dim);
  const int part = threadIdx.x % kLanesPerCell;
  const auto* scales = reinterpret_cast<const __half*>(slab + KvPlaneBytes(format, dim));
  float sums[kCells][kHeads] = {};
  for (int c = part; c < padded / kChunk<format>; c += kLanesPerCell) {
    int4 stored[kCells];
    float scale[kCells];
#pragma unroll
    for (int j = 0; j < kCells; ++j) {
      const int cell = j * kAtOnce + threadIdx.x / kLanesPerCell;
      const bool seen = cell >= first && cell < last;
      const uint8_t* row = slab + static_cast<int64_t>(cell) * padded * KvElementBytes(format);
      stored[j] = seen ? reinterpret_cast<const int4*>(row)[c] : make_int4(0, 0, 0, 0);
      scale[j] = 0.0f;
      if constexpr (format == KvFormat::kQ8_0) {
        if (seen) scale[j] = __half2float(scales[cell * KvBlocks(dim) + c / 2]);
      }
    }
    float k[kCells][kChunk<format>];
#pragma unroll
    for (int j = 0; j < kCells; ++j) DecodeChunk<format>(stored[j], scale[j], k[j]);
      // Four values of the queries serve all cells of the lane.
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      const auto* four = reinterpret_cast<const float4*>(queries + h * padded + c * kChunk<format>);
#pragma unroll
      for (int i = 0; i < kChunk<format> / 4; ++i) {
        const float4 q = four[i];
#pragma unroll
        for (int j = 0; j < kCells; ++j) {
          float sum = sums[j][h];
          sum = fmaf(q.x, k[j][4 * i], sum);
          sum = fmaf(q.y, k[j][4 * i + 1], sum);
          sum = fmaf(q.z, k[j][4 * i + 2], sum);
          sums[j][h] = fmaf(q.w, k[j][4 * i + 3], sum);
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kCells; ++j) {
    const int cell = j * kAtOnce + threadIdx.x / kLanesPerCell;
    const bool seen = cell >= first && cell < last;
    if constexpr (kHeads == kLanesPerCell) {
      const float score = SumForHead(sums[j], part) * args.scale;
      scores[part * kKvPageCells + cell] = seen ? score : -INFINITY;
    } else {
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        float sum = sums[j][h];
#pragma unroll
        for (int offset = kLanesPerCell / 2; offset > 0; offset /= 2) {
          sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        if (part == 0) scores[h * kKvPageCells + cell] = seen ? sum * args.scale : -INFINITY;
      }
    }
  }
}

// Turns a head's scores into weights against the new maximum; returns what the sums so far are to
// be multiplied with.
__device__ __forceinline__ float SoftmaxPage(float* scores, float softcap, float* highest,
                                             float* total) {
  const int lane = threadIdx.x % kWarp;
  float s0 = scores[lane];
  float s1 = scores[lane + kWarp];
  if (softcap > 0.0f) {
    if (s0 != -INFINITY) s0 = softcap * tanhf(s0 / softcap);
    if (s1 != -INFINITY) s1 = softcap * tanhf(s1 / softcap);
  }
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

// A lane's sums over the cells of its group, for all heads of the block. Lanes `group`, of which
// each owns the columns of `lane`; a thread beyond all columns has no group.
template <KvFormat format, int kHeads>
struct ValueSums {
  int lanes;
  int groups;
  int lane;
  int group;
  float sums[kHeads][kOwned<format>] = {};
  StoredValues<format> ahead[kAhead];

  __device__ explicit ValueSums(int dim) {
    lanes = KvPadded(dim) / kOwned<format>;
    groups = kAttentionThreads / lanes;
    lane = static_cast<int>(threadIdx.x) % lanes;
    group = static_cast<int>(threadIdx.x) / lanes;
  }
  __device__ int Cell(int batch, int i) const { return group + groups * (batch * kAhead + i); }
  __device__ bool Sees(int cell, int first, int last) const {
    return group < groups && cell >= first && cell < last;
  }

  __device__ __forceinline__ void LoadBatch(const uint8_t* slab, int batch, int first, int last,
                                            int dim) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int cell = Cell(batch, i);
      if (Sees(cell, first, last)) ahead[i].Load(slab, cell, lane, dim);
    }
  }
  // The page's weights on the values; the first batch has been loaded.
  __device__ __forceinline__ void AddPage(const uint8_t* slab, int first, int last, int dim,
                                          const float* weights, const float* factors) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
#pragma unroll
      for (int i = 0; i < kOwned<format>; ++i) sums[h][i] *= factors[h];
    }
    for (int batch = 0; batch * kAhead * groups < kKvPageCells; ++batch) {
      if (batch > 0) LoadBatch(slab, batch, first, last, dim);
#pragma unroll
      for (int j = 0; j < kAhead; ++j) {
        const int cell = Cell(batch, j);
        if (!Sees(cell, first, last)) continue;
        float values[kOwned<format>];
        ahead[j].Decode(values);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          const float weight = weights[h * kKvPageCells + cell];
#pragma unroll
          for (int i = 0; i < kOwned<format>; ++i) {
            sums[h][i] = fmaf(weight, values[i], sums[h][i]);
          }
        }
      }
    }
  }
  // parts[(head * groups + group) * padded + column]
  __device__ __forceinline__ void Store(float* parts) const {
    if (group >= groups) return;
    const int padded = lanes * kOwned<format>;
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      auto* to =
          reinterpret_cast<float4*>(parts + (h * groups + group) * padded + lane * kOwned<format>);
#pragma unroll
      for (int i = 0; i < kOwned<format> / 4; ++i) {
        to[i] =
            make_float4(sums[h][4 * i], sums[h][4 * i + 1], sums[h][4 * i + 2], sums[h][4 * i + 3]);
      }
    }
  }
  __device__ float Column(const float* parts, int h, int d) const {
    const int padded = lanes * kOwned<format>;
    float sum = 0.0f;
    for (int g = 0; g < groups; ++g) sum += parts[(h * groups + g) * padded + d];
    return sum;
  }
};

// Floats of shared memory that a block needs.
template <KvFormat v_format, int kHeads>
int AttentionSharedFloats(int k_dim) {
  const int while_running = KvPadded(k_dim) + kKvPageCells;
  return kHeads * (2 + std::max(while_running, kAttentionThreads * kOwned<v_format>));
}

template <KvFormat k_format, KvFormat v_format, int kHeads>
__global__ void __launch_bounds__(kAttentionThreads) AttentionKernel(AttentionArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  extern __shared__ __align__(16) float shared[];
  const int padded = KvPadded(args.k.dim);
  float* queries = shared;
  float* scores = queries + kHeads * padded;
  float* parts = shared;
  float* factors =
      shared + kHeads * max(padded + kKvPageCells, kAttentionThreads * kOwned<v_format>);
  float* totals = factors + kHeads;
  const int64_t row = blockIdx.x;
  const int group = args.n_heads / args.n_kv_heads;
  const int blocks = (group + kHeads - 1) / kHeads;
  const int kv_head = blockIdx.y / blocks;
  const int first_head = kv_head * group + static_cast<int>(blockIdx.y) % blocks * kHeads;
  const int heads = min(kHeads, (kv_head + 1) * group - first_head);
  const VisibleCells seen = FindVisible(args, row);
  const int first_page = seen.low / kKvPageCells;
  const int pages = (seen.high + kKvPageCells - 1) / kKvPageCells - first_page;
  const int stripe = static_cast<int>(blockIdx.z);
  const int per_stripe = (pages + static_cast<int>(gridDim.z) - 1) / static_cast<int>(gridDim.z);
  const int end = min(pages, (stripe + 1) * per_stripe);
  const bool empty = stripe * per_stripe >= end;
  const int64_t at = row * args.n_heads + first_head;
  const int stride = args.v.dim + 2;
  if (empty && args.partials != nullptr) {
    // The combining step reads no more of it.
    if (static_cast<int>(threadIdx.x) < heads) {
      float* to = args.partials + ((at + threadIdx.x) * kAttentionStripes + stripe) * stride;
      to[0] = -INFINITY;
      to[1] = 0.0f;
    }
    return;
  }

  for (int d = threadIdx.x; d < padded; d += kAttentionThreads) {
    const float* q = args.q + at * args.k.dim + d;
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      queries[h * padded + d] = h < heads && d < args.k.dim ? q[h * args.k.dim] : 0.0f;
    }
  }
  ValueSums<v_format, kHeads> values(args.v.dim);
  constexpr int kHeadsPerWarp = (kHeads + 3) / 4;
  float highest[kHeadsPerWarp];
  float total[kHeadsPerWarp];
#pragma unroll
  for (int i = 0; i < kHeadsPerWarp; ++i) {
    highest[i] = -INFINITY;
    total[i] = 0.0f;
  }
  const int warp = threadIdx.x / kWarp;
  for (int p = stripe * per_stripe; p < end; ++p) {
    const int page_start = (first_page + p) * kKvPageCells;
    const int first = max(0, seen.low - page_start);
    const int last = min(kKvPageCells, seen.high - page_start);
    const int64_t page = seen.pages[first_page + p];
    const uint8_t* k =
        args.k.pages + page * args.k.page_bytes + kv_head * KvSlabBytes(k_format, args.k.dim);
    const uint8_t* v =
        args.v.pages + page * args.v.page_bytes + kv_head * KvSlabBytes(v_format, args.v.dim);
    values.LoadBatch(v, 0, first, last, args.v.dim);
    __syncthreads();
    ScorePage<k_format, kHeads>(args, k, first, last, queries, scores);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kHeadsPerWarp; ++i) {
      const int h = warp + 4 * i;
      if (h >= kHeads) continue;
      const float factor =
          SoftmaxPage(scores + h * kKvPageCells, args.softcap, &highest[i], &total[i]);
      if (threadIdx.x % kWarp == 0) factors[h] = factor;
    }
    __syncthreads();
    values.AddPage(v, first, last, args.v.dim, scores, factors);
  }
  // The last page's weights and factors may still be read.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kHeadsPerWarp; ++i) {
    const int h = warp + 4 * i;
    if (h >= kHeads || threadIdx.x % kWarp != 0) continue;
    totals[h] = total[i];
    factors[h] = highest[i];
  }
  values.Store(parts);
  __syncthreads();
  for (int h = 0; h < heads; ++h) {
    if (args.partials == nullptr) {
      const SinkScale sink = AddSink(args.sinks, first_head + h, factors[h], totals[h]);
      for (int d = threadIdx.x; d < args.v.dim; d += kAttentionThreads) {
        args.out[(at + h) * args.v.dim + d] =
            seen.high > seen.low ? values.Column(parts, h, d) * sink.keep / sink.total : 0.0f;
      }
      continue;
    }
    // A partial: maximum, sum, then the columns.
    float* to = args.partials + ((at + h) * kAttentionStripes + stripe) * stride;
    if (threadIdx.x == 0) {
      to[0] = factors[h];
      to[1] = totals[h];
    }
    for (int d = threadIdx.x; d < args.v.dim; d += kAttentionThreads) {
      to[2 + d] = values.Column(parts, h, d);
    }
  }
}

// A block a row and head: each partial counts exp(its maximum - the largest), empty ones nothing.
// With planes the result is quantised too, a warp 32 columns; rows past the last are zeros there.
__global__ void __launch_bounds__(kAttentionThreads) CombineKernel(AttentionArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  __shared__ float weights[kAttentionStripes];
  __shared__ float shared_total;
  const int64_t at = blockIdx.x;
  const int64_t row = at / args.n_heads;
  const int64_t width = int64_t{args.n_heads} * args.v.dim;
  const int64_t first_block = at % args.n_heads * (args.v.dim / 32);
  if (row >= args.rows) {
    for (int d = threadIdx.x; d < args.v.dim; d += kAttentionThreads) {
      QuantizeToPlanes(args.planes, width, row, first_block + d / 32, d % 32, 0.0f);
    }
    return;
  }
  const int stride = args.v.dim + 2;
  const float* partials = args.partials + at * kAttentionStripes * stride;
  if (threadIdx.x < kWarp) {
    const StripeScale scale =
        ScaleStripe(partials[threadIdx.x * stride], partials[threadIdx.x * stride + 1], args.sinks,
                    static_cast<int>(at % args.n_heads));
    weights[threadIdx.x] = scale.weight;
    if (threadIdx.x == 0) shared_total = scale.total;
  }
  __syncthreads();
  const VisibleCells seen = FindVisible(args, row);
  const int pages = seen.high <= seen.low
                        ? 0
                        : (seen.high + kKvPageCells - 1) / kKvPageCells - seen.low / kKvPageCells;
  const int per_stripe = (pages + kAttentionStripes - 1) / kAttentionStripes;
  const int stripes = per_stripe == 0 ? 0 : (pages + per_stripe - 1) / per_stripe;
  for (int d = threadIdx.x; d < args.v.dim; d += kAttentionThreads) {
    float sum = 0.0f;
    for (int s = 0; s < stripes; ++s) sum = fmaf(weights[s], partials[s * stride + 2 + d], sum);
    const float value = stripes > 0 ? sum / shared_total : 0.0f;
    if (args.out != nullptr) args.out[at * args.v.dim + d] = value;
    if (args.planes.out != nullptr) {
      QuantizeToPlanes(args.planes, width, row, first_block + d / 32, d % 32, value);
    }
  }
}

}  // namespace minfer::kernels::cuda
