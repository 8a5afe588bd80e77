// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// 2^x to about 2 ulp (ex2.approx); results below the smallest normal number are 0.
#pragma once

namespace minfer::kernels::cuda {

__device__ __forceinline__ float Ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace minfer::kernels::cuda
