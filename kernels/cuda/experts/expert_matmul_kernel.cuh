// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A warp computes one row of one expert's matrix for all slots of that expert, kSlots at a time;
// block y takes the y-th expert that has slots. Lanes take eight values in turn, and every slot
// sums in the same order whatever others are beside it. Bound by the bytes of the weights where an
// expert has few slots, by the decoding and the L1 where it has many.
#pragma once

#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/experts/experts.h"

namespace minfer::kernels::cuda {

inline constexpr int kExpertThreads = 128;
inline constexpr int kExpertWarps = kExpertThreads / kWarp;

// An expert and its slots, [begin, end) of the ordered ones; none: expert -1.
struct ActiveExpert {
  int expert = -1;
  int begin = 0;
  int end = 0;
};

// The `wanted`-th expert with slots, found by a warp. Counts are not trusted: begin and end stay
// within the slots. `complete`: looks at all counts, and tells whether they add up.
__device__ __forceinline__ ActiveExpert FindExpert(const ExpertMatMulArgs& args, int wanted,
                                                   bool complete, bool* fits) {
  const int lane = threadIdx.x % kWarp;
  const int n_slots = static_cast<int>(args.n_slots);
  ActiveExpert found;
  int total = 0;  // slots before these 32 experts, at most n_slots + 1
  int active = 0;
  for (int base = 0; base < args.n_experts; base += kWarp) {
    const int e = base + lane;
    const int given = e < args.n_experts ? args.counts[e] : 0;
    const int count = min(max(given, 0), n_slots + 1);
    if (complete && __any_sync(0xffffffffu, given != count)) *fits = false;
    int sum = count;
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const int below = __shfl_up_sync(0xffffffffu, sum, offset);
      if (lane >= offset) sum += below;
    }
    const unsigned has = __ballot_sync(0xffffffffu, count > 0);
    const bool here = count > 0 && active + __popc(has & ((1u << lane) - 1u)) == wanted;
    const unsigned who = __ballot_sync(0xffffffffu, here);
    if (who != 0) {
      const int source = __ffs(static_cast<int>(who)) - 1;
      const int end = __shfl_sync(0xffffffffu, total + sum, source);
      const int number = __shfl_sync(0xffffffffu, count, source);
      found = {base + source, min(end - number, n_slots), min(end, n_slots)};
      if (!complete) return found;
    }
    active += __popc(has);
    total = min(total + __shfl_sync(0xffffffffu, sum, kWarp - 1), n_slots + 1);
  }
  if (complete && total != n_slots) *fits = false;
  return found;
}

// Eight values of x; those beyond the row are 0.
__device__ __forceinline__ void LoadEight(const float* x, int count, bool aligned, float* out) {
  if (aligned) {
    const float4 a = reinterpret_cast<const float4*>(x)[0];
    const float4 b = reinterpret_cast<const float4*>(x)[1];
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
    out[3] = a.w;
    out[4] = b.x;
    out[5] = b.y;
    out[6] = b.z;
    out[7] = b.w;
    return;
  }
#pragma unroll
  for (int v = 0; v < 8; ++v) out[v] = v < count ? x[v] : 0.0f;
}

template <ElementType type, int kSlots>
__global__ void __launch_bounds__(kExpertThreads)
    ExpertMatMulKernel(const __grid_constant__ ExpertMatMulArgs args, int64_t weight_row_bytes,
                       int64_t bias_stride) {
  const int lane = threadIdx.x % kWarp;
  bool fits = true;
  const ActiveExpert active =
      FindExpert(args, static_cast<int>(blockIdx.y), blockIdx.x == 0 && blockIdx.y == 0, &fits);
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kExpertWarps + threadIdx.x / kWarp;
  if (!fits && lane == 0 && args.fault.word != nullptr) *args.fault.word = args.fault.value;
  if (active.expert < 0 || r >= args.n) return;
  const int64_t matrix_row = active.expert * args.n + r;
  const uint8_t* row = static_cast<const uint8_t*>(args.weights) + matrix_row * weight_row_bytes;
  const float bias = args.bias == nullptr ? 0.0f : args.bias[active.expert * bias_stride + r];
  const bool aligned = args.k % 8 == 0 && reinterpret_cast<uintptr_t>(args.x) % 16 == 0;
  for (int first = active.begin; first < active.end; first += kSlots) {
    int slots[kSlots];
    const float* rows[kSlots];
    float sums[kSlots];
#pragma unroll
    for (int m = 0; m < kSlots; ++m) {
      sums[m] = 0.0f;
      slots[m] = first + m < active.end ? args.slots[first + m] : -1;
      if (first + m < active.end && (slots[m] < 0 || slots[m] >= args.n_slots)) {
        if (args.fault.word != nullptr) *args.fault.word = args.fault.value;
        slots[m] = -1;
      }
      // A slot that is not there reads row 0 and is dropped.
      rows[m] = args.x + static_cast<int64_t>(max(slots[m], 0) / args.fan_out) * args.k;
    }
    const int live = min(kSlots, active.end - first);
    for (int64_t i = 8 * lane; i < args.k; i += 8 * kWarp) {
      float w[8];
      DecodeEight<type>(row, args.k, i, w);
      const int count = static_cast<int>(args.k - i < 8 ? args.k - i : 8);
#pragma unroll
      for (int m = 0; m < kSlots; ++m) {
        if (m >= live) break;
        float x[8];
        LoadEight(rows[m] + i, count, aligned, x);
#pragma unroll
        for (int v = 0; v < 8; ++v) {
          if (v < count) sums[m] = fmaf(w[v], x[v], sums[m]);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < kSlots; ++m) {
      const float sum = WarpSum(sums[m]);
      if (lane != 0 || slots[m] < 0) continue;
      args.out[slots[m] * args.n + r] = args.bias == nullptr ? sum : sum + bias;
    }
  }
}

}  // namespace minfer::kernels::cuda
