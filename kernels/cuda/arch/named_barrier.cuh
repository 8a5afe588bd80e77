// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Barriers of a block by number (1 .. 15; 0 is that of __syncthreads): warps that only arrive go
// on, warps that wait see what those wrote before. Compiled with MINFER_ARRIVALS_WAIT all wait, for
// racecheck, which does not follow arrivals.
#pragma once

namespace minfer::kernels::cuda {

__device__ __forceinline__ void NamedBarrierSync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void NamedBarrierArrive(int barrier, int threads) {
#ifdef MINFER_ARRIVALS_WAIT
  NamedBarrierSync(barrier, threads);
#else
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

}  // namespace minfer::kernels::cuda
