// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp with signed bytes, from 8.0 on. c is 16 x 8 int32: a lane holds rows lane / 4
// and lane / 4 + 8, columns 2 (lane % 4) and the next. Register i of a lane holds four values of k,
// 4 (lane % 4) and on: of a, row lane / 4 (+ 8 where i is odd), k + 16 from register 2 on; of b,
// column lane / 4, k + 16 in register 1.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ void MmaS8M16N8K32(const uint32_t* a, const uint32_t* b, int* c) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};\n"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Half of it: two registers of a, one of b.
__device__ __forceinline__ void MmaS8M16N8K16(const uint32_t* a, uint32_t b, int* c) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};\n"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
#endif
}

}  // namespace minfer::kernels::cuda
