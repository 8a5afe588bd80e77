// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Half of mma_m16n8k32.cuh: 16 values of k, of a two registers (rows lane / 4 and + 8), of b one
// (mma.m16n8k16 with int8, from 8.0 on; before it, two of mma_m8n8k16.cuh).
#pragma once

#include <cstdint>

#include "kernels/cuda/arch/mma_m8n8k16.cuh"

namespace minfer::kernels::cuda {

__device__ __forceinline__ void MmaS8M16N8K16(const uint32_t* a, uint32_t b, int* c) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};\n"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
#else
  MmaM8N8K16<false>(a[0], b, c);
  MmaM8N8K16<false>(a[1], b, c + 2);
#endif
}

}  // namespace minfer::kernels::cuda
