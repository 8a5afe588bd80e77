// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp: a is 16 x 32 int8 or uint8 by rows, b 32 x 8 by columns, c 16 x 8 int32
// (mma.m16n8k32, from 8.0 on; before it, four of mma_m8n8k16.cuh, which sum the same). With g =
// lane / 4 and t = lane % 4, a lane gives a at (g, 4 t), (g + 8, 4 t), (g, 16 + 4 t), (g + 8, 16 +
// 4 t), four values a word, and b at (4 t, g) and (16 + 4 t, g); it holds c at rows g and g + 8,
// columns 2 t and the next.
#pragma once

#include <cstdint>

#include "kernels/cuda/arch/mma_m8n8k16.cuh"

namespace minfer::kernels::cuda {

template <bool kUnsignedA>
__device__ __forceinline__ void MmaM16N8K32(const uint32_t* a, uint32_t b0, uint32_t b1, int* c) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kUnsignedA) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#else
  MmaM8N8K16<kUnsignedA>(a[0], b0, c);
  MmaM8N8K16<kUnsignedA>(a[1], b0, c + 2);
  MmaM8N8K16<kUnsignedA>(a[2], b1, c);
  MmaM8N8K16<kUnsignedA>(a[3], b1, c + 2);
#endif
}

}  // namespace minfer::kernels::cuda
