// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where a block's sums go: a row that has one stripe is finished, of others a partial result is
// written (its columns, maximum and sum) and added up in the order of the stripes. Results are
// quantised on the way where asked.
#pragma once

#include "kernels/cuda/arch/ld_global_cg.cuh"
#include "kernels/cuda/attention/stripes.cuh"
#include "kernels/cuda/attention_decode/decode_fragments.cuh"
#include "kernels/cuda/attention_decode/decode_tail.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"

namespace minfer::kernels::cuda {

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

// Four columns of a head, of all warps in their order.
template <int kDim>
__device__ __forceinline__ float4 SumOfWarps(const DecodeShared<kDim>& shared, int head, int d) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const int at[4] = {FindSum<kDim>(head, d), FindSum<kDim>(head, d + 1), FindSum<kDim>(head, d + 2),
                     FindSum<kDim>(head, d + 3)};
#pragma unroll
  for (int w = 0; w < kDecodeWarps; ++w) {
    const float* sums = shared.rooms[w].sums[0];
    sum.x += sums[at[0]];
    sum.y += sums[at[1]];
    sum.z += sums[at[2]];
    sum.w += sums[at[3]];
  }
  return sum;
}

template <int kDim>
__device__ __forceinline__ float TotalOfWarps(const DecodeShared<kDim>& shared, int head) {
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kDecodeWarps; ++w) sum += shared.totals[w][head];
  return sum;
}

// The only stripe of a row is its result: as CombineStripes adds up one.
template <int kDim>
__device__ __forceinline__ void FinishRow(const AttentionArgs& args, int64_t row, int first_head,
                                          int heads, const DecodeShared<kDim>& shared) {
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    const SinkScale sink =
        AddSink(args.sinks, first_head + h, shared.head_highest[h], TotalOfWarps<kDim>(shared, h));
    const float inverse = 1.0f / sink.total;
    float4 x = SumOfWarps<kDim>(shared, h, d);
    x = make_float4(fmaf(sink.keep, x.x, 0.0f) * inverse, fmaf(sink.keep, x.y, 0.0f) * inverse,
                    fmaf(sink.keep, x.z, 0.0f) * inverse, fmaf(sink.keep, x.w, 0.0f) * inverse);
    WriteFour(args, row, first_head + h, d, x, inside);
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
    *reinterpret_cast<float4*>(to + d) = SumOfWarps<kDim>(shared, h, d);
    if (d == 0) {
      *reinterpret_cast<float2*>(to + kDim) =
          make_float2(shared.head_highest[h], TotalOfWarps<kDim>(shared, h));
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
                          ? LoadFromL2(reinterpret_cast<const float2*>(
                                FindPartial<kDim>(args, row, first_head + h, lane) + kDim))
                          : make_float2(-INFINITY, 0.0f);
  const StripeScale scale = ScaleStripe(part.x, part.y, args.sinks, first_head + h);
  weights[h][lane] = scale.weight;
  if (lane == 0) totals[h] = scale.total;
}

// The stripes of a row's heads added up in their order, four columns a thread. Their columns come
// to shared memory, all together if they have room, while the stripes are weighed.
template <int kDim>
__device__ __forceinline__ void CombineStripes(const AttentionArgs& args, int64_t row,
                                               int first_head, int heads, int stripes,
                                               DecodeShared<kDim>* shared) {
  const int threads = min(heads * (kDim / 4), kDecodeThreads);
  const int ahead = min(kCombineFours<kDim> / threads, stripes);
  float4* columns = shared->partials + threadIdx.x;
  bool weighed = false;
  ForEachFour<kDim>(heads, [&](int h, int d, bool inside) {
    const float* partials = FindPartial<kDim>(args, row, first_head + h, 0) + d;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int begin = 0; begin < stripes; begin += ahead) {
      const int n = inside ? min(ahead, stripes - begin) : 0;
#pragma unroll 8
      for (int i = 0; i < n; ++i) {
        CpAsync16(columns + i * threads, partials + (begin + i) * (kDim + 4), true);
      }
      CpAsyncCommit();
      if (!weighed) {
        WeighStripes<kDim>(args, row, first_head, heads, stripes, shared->weights,
                           shared->head_total);
        __syncthreads();
        weighed = true;
      }
      CpAsyncWait<0>();
      __syncwarp();
#pragma unroll 8
      for (int i = 0; i < n; ++i) {
        const float weight = shared->weights[h][begin + i];
        const float4 x = columns[i * threads];
        sum.x = fmaf(weight, x.x, sum.x);
        sum.y = fmaf(weight, x.y, sum.y);
        sum.z = fmaf(weight, x.z, sum.z);
        sum.w = fmaf(weight, x.w, sum.w);
      }
      __syncwarp();
    }
    const float inverse = 1.0f / shared->head_total[h];
    WriteFour(args, row, first_head + h, d,
              make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse),
              inside);
  });
}

}  // namespace minfer::kernels::cuda
