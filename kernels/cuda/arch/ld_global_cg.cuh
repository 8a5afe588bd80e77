// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads global memory from the L2 (ld.global.cg): what other multiprocessors wrote while this
// kernel ran is not seen in the L1. What CUDA calls __ldcg, which clang's headers do not have for
// vectors.
#pragma once

namespace minfer::kernels::cuda {

__device__ __forceinline__ float2 LoadFromL2(const float2* from) {
  float2 v;
  asm volatile("ld.global.cg.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
  return v;
}

__device__ __forceinline__ float4 LoadFromL2(const float4* from) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from));
  return v;
}

}  // namespace minfer::kernels::cuda
