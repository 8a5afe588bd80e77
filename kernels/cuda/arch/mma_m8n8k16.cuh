// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// c += a b for a warp: a is 8 x 16 int8 or uint8 by rows, b 16 x 8 int8 by columns, c 8 x 8 int32
// (mma.m8n8k16, from 7.5 on). With g = lane / 4 and t = lane % 4, a lane gives a at (g, 4 t) and b
// at (4 t, g), four values a word; it holds c at row g, columns 2 t and the next.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

template <bool kUnsignedA>
__device__ __forceinline__ void MmaM8N8K16(uint32_t a, uint32_t b, int* c) {
#if __CUDA_ARCH__ >= 750
  if constexpr (kUnsignedA) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};\n"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a), "r"(b));
  } else {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};\n"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a), "r"(b));
  }
#endif
}

}  // namespace minfer::kernels::cuda
