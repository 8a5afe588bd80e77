// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp: a is 16 x 16 halves by rows, b 16 x 8 halves by columns, c 16 x 8 floats
// (mma.m16n8k16, from 8.0 on). A lane holds c at rows lane / 4 and lane / 4 + 8, columns
// 2 (lane % 4) and the next.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ void MmaM16N8K16(const uint32_t* a, const uint32_t* b, float* c) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

}  // namespace minfer::kernels::cuda
