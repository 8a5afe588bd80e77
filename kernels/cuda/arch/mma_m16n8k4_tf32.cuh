// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp with floats of which the upper 19 bits count (mma.m16n8k4, from 8.0 on;
// before it, by fma). A lane holds a at rows lane / 4 and + 8, k lane % 4; b at column lane / 4, k
// lane % 4; c as with halves.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ void MmaTf32M16N8K4(const float* a, float b, float* c) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(b)));
#else
  const auto upper = [](float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); };
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float low = upper(__shfl_sync(0xffffffffu, a[0], lane / 4 * 4 + k));
    const float high = upper(__shfl_sync(0xffffffffu, a[1], lane / 4 * 4 + k));
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float x = upper(__shfl_sync(0xffffffffu, b, lane % 4 * 8 + e * 4 + k));
      c[e] = fmaf(low, x, c[e]);
      c[2 + e] = fmaf(high, x, c[2 + e]);
    }
  }
#endif
}

}  // namespace minfer::kernels::cuda
