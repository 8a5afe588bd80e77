// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic of the RMS norm, shared by the kernel that does nothing else and by products that take
// the norm of their activations on the way. A warp adds the squares of 128 values, four a lane; the
// sums of the warps are added in the order of the values.
#pragma once

#include <cuda_runtime.h>

namespace minfer::kernels::cuda {

__device__ __forceinline__ float AddSquares(float sum, float4 x) {
  sum = fmaf(x.x, x.x, sum);
  sum = fmaf(x.y, x.y, sum);
  sum = fmaf(x.z, x.z, sum);
  return fmaf(x.w, x.w, sum);
}

// What values of a row are multiplied with, from the sum of its squares.
__device__ __forceinline__ float NormFactor(float squares, int width, float eps) {
  const float mean = squares / static_cast<float>(width);
  return 1.0f / sqrtf(mean + eps);
}

__device__ __forceinline__ float4 Normed(float4 x, float factor, float4 weight) {
  return make_float4(x.x * factor * weight.x, x.y * factor * weight.y, x.z * factor * weight.z,
                     x.w * factor * weight.w);
}

}  // namespace minfer::kernels::cuda
