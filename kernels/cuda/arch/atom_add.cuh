// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Adds to a word of global memory and returns what was there (atom.acq_rel.gpu). What the thread
// has seen written before, others of its block included behind a barrier, is seen by the threads of
// the device whose addition comes later.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ uint32_t AtomAddAcqRel(uint32_t* to, uint32_t value) {
  uint32_t before = 0;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;\n"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
  return before;
}

}  // namespace minfer::kernels::cuda
