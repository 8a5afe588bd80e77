// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic that fused and unfused kernels share, so that both give the same bits, and reductions
// over the lanes of a warp.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace minfer::kernels::cuda {

template <typename T>
__device__ __forceinline__ T WarpSum(T x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
  return x;
}

__device__ __forceinline__ float WarpMax(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  }
  return x;
}

__device__ __forceinline__ float Silu(float x) { return x / (1.0f + expf(-x)); }

// gelu in its tanh form: x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
__device__ __forceinline__ float GeluTanh(float x) {
  const float u = 0.7978845608028654f * (x + 0.044715f * x * x * x);
  return x / (1.0f + expf(-2.0f * u));
}

// Element d of a head after rotation. Pairs are (i, i + rope_dim / 2) in the neox style, (2i, 2i +
// 1) otherwise; cos_sin holds cos and sin of each pair.
__device__ __forceinline__ float Rotated(const float* head, const float* cos_sin, int d,
                                         int rope_dim, bool neox) {
  if (d >= rope_dim) return head[d];
  const int half = rope_dim / 2;
  const int pair = neox ? (d < half ? d : d - half) : d / 2;
  const bool second = neox ? d >= half : (d & 1) != 0;
  const float a = head[neox ? pair : 2 * pair];
  const float b = head[neox ? pair + half : 2 * pair + 1];
  const float c = cos_sin[2 * pair];
  const float s = cos_sin[2 * pair + 1];
  return second ? a * s + b * c : a * c - b * s;
}

// Halves have a largest number; what is larger becomes it, a NaN stays.
__device__ __forceinline__ __half ClampedHalf(float x) {
  return __float2half_rn(isnan(x) ? x : fminf(65504.0f, fmaxf(-65504.0f, x)));
}

}  // namespace minfer::kernels::cuda
