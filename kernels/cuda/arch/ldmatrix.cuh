// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Four 8 x 8 tiles of halves from shared memory into the fragments of mma: lanes 8 i .. 8 i + 7
// give the rows of tile i, 16 bytes each.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ void LdMatrix4(const void* row, uint32_t* out) {
#if __CUDA_ARCH__ >= 750
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(from));
#endif
}

// The same, each tile transposed.
__device__ __forceinline__ void LdMatrix4Transposed(const void* row, uint32_t* out) {
#if __CUDA_ARCH__ >= 750
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(from));
#endif
}

}  // namespace minfer::kernels::cuda
