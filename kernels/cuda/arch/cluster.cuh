// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Blocks of a cluster and the shared memory of each other (from 9.0 on; before, and without a
// cluster, a block is one of its own). A block writes there only once all have come to the barrier.
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

__device__ __forceinline__ int ClusterRank() {
  uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}

// What a thread did before its arrival is seen by all that have waited.
__device__ __forceinline__ void ClusterArrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
#endif
}

__device__ __forceinline__ void ClusterWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
#endif
}

// A float to the place that `to` has in the block of that rank.
__device__ __forceinline__ void StoreToRank(float* to, [[maybe_unused]] int rank, float value) {
#if __CUDA_ARCH__ >= 900
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;\n" : "+r"(at) : "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;\n" ::"r"(at), "f"(value) : "memory");
#else
  *to = value;
#endif
}

}  // namespace minfer::kernels::cuda
