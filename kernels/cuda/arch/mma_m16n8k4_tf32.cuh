// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp with floats of which the upper 19 bits count (mma.m16n8k4, from 8.0 on). A
// lane holds a at rows lane / 4 and + 8, k lane % 4; b at column lane / 4, k lane % 4; c as with
// halves.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ void MmaTf32M16N8K4(const float* a, float b, float* c) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(b)));
#endif
}

}  // namespace minfer::kernels::cuda
