// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Copies from global to shared memory that pass no register (cp.async, from 8.0 on).
#pragma once

#include <cstdint>

namespace minfer::kernels::cuda {

// 16 bytes; where `inside` is false, nothing is read and zeros are written.
__device__ __forceinline__ void CpAsync16(void* shared, const void* global, bool inside) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global),
               "r"(inside ? 16 : 0));
#endif
}

__device__ __forceinline__ void CpAsyncCommit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n");
#endif
}

// Waits until at most `pending` of the groups that were committed last are unfinished.
template <int pending>
__device__ __forceinline__ void CpAsyncWait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;\n" ::"n"(pending));
#endif
}

// The same for a number known at run time, up to 2.
__device__ __forceinline__ void CpAsyncWaitFor(int pending) {
  if (pending == 2) {
    CpAsyncWait<2>();
  } else if (pending == 1) {
    CpAsyncWait<1>();
  } else {
    CpAsyncWait<0>();
  }
}

}  // namespace minfer::kernels::cuda
