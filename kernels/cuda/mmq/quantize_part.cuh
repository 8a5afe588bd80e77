// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How eight lanes quantise 32 activations into a unit of the layout in mmq.h.
#pragma once

#include <cstdint>

#include "kernels/cuda/mmq/mmq_layout.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmqLanes = 8;  // a block of 32 values, four each
// Below this 127 / magnitude would overflow; such a block is taken as zero.
inline constexpr float kSmallestTiled = 0x1p-119f;

template <typename T>
__device__ __forceinline__ T MmqLanesSum(T x) {
#pragma unroll
  for (int offset = kMmqLanes / 2; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, offset);
  }
  return x;
}

// Quantises a lane's four values with its block, writes them to `unit`, and leaves in x what that
// leaves out. row: of the eight; sub: block of the unit's eight; part: of the block's eight.
__device__ __forceinline__ void QuantizeMmqPart(float* x, int row, int sub, int part,
                                                uint8_t* unit) {
  float largest = 0.0f;
  bool finite = true;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    largest = fmaxf(largest, fabsf(x[v]));
    finite = finite && isfinite(x[v]);
  }
#pragma unroll
  for (int offset = kMmqLanes / 2; offset > 0; offset /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    finite = __shfl_xor_sync(0xffffffffu, static_cast<int>(finite), offset) != 0 && finite;
  }
  const bool zero = !finite || largest < kSmallestTiled;
  const float scale = finite ? (zero ? 0.0f : largest / 127.0f) : __int_as_float(0x7fc00000);
  const float inverse = 127.0f / largest;
  uint32_t bytes = 0;
  int sum = 0;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int q = zero ? 0 : __float2int_rn(x[v] * inverse);
    bytes |= (static_cast<uint32_t>(q) & 255u) << (8 * v);
    sum += q;
    x[v] = finite ? x[v] - scale * static_cast<float>(q) : 0.0f;
  }
  sum = MmqLanesSum(sum);
  const int lane = row * 4 + part % 4;
  *reinterpret_cast<uint32_t*>(unit + sub / 2 * 512 + lane * 16 + sub % 2 * 8 + part / 4 * 4) =
      bytes;
  if (part == 0) {
    *reinterpret_cast<float*>(unit + kMmqScalesAt + row / 2 * 64 + sub * 8 + row % 2 * 4) = scale;
    *reinterpret_cast<float*>(unit + kMmqSumsAt + (row * 4 + sub % 4) * 8 + sub / 4 * 4) =
        scale * static_cast<float>(sum);
  }
}

}  // namespace minfer::kernels::cuda
