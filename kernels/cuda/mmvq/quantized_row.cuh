// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How 32 activations become int8 values and a head: their scale, and the sums of the first and the
// last 16 as two int16 of one word (16 x 127 fits). The kernels that quantise on the way share this
// with the one that does nothing else.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {

// Below this 127 / magnitude would overflow; such a block is taken as zero.
inline constexpr float kSmallestQuantized = 0x1p-119f;

__device__ __forceinline__ float2 MakeHead(float scale, int first, int second) {
  const uint32_t sums = (static_cast<uint32_t>(first) & 0xffffu) | static_cast<uint32_t>(second)
                                                                       << 16;
  return make_float2(scale, __uint_as_float(sums));
}

__device__ __forceinline__ int2 HalfSums(float2 head) {
  const int sums = __float_as_int(head.y);
  return make_int2(static_cast<int16_t>(sums & 0xffff), sums >> 16);
}

__device__ __forceinline__ int QuantSum(float2 head) {
  const int2 sums = HalfSums(head);
  return sums.x + sums.y;
}

// What 32 values share. A block with a value that is not finite has the scale NaN and zeros.
struct BlockScale {
  bool finite;
  bool zero;
  float scale;
  float inverse;

  __device__ BlockScale(float largest, bool all_finite) {
    finite = all_finite;
    zero = !finite || largest < kSmallestQuantized;
    scale = finite ? (zero ? 0.0f : largest / 127.0f) : __int_as_float(0x7fc00000);
    inverse = zero ? 0.0f : 127.0f / largest;
  }
  __device__ int Quantize(float x) const { return zero ? 0 : __float2int_rn(x * inverse); }
  // What the byte leaves out.
  __device__ float Rest(float x, int q) const {
    return finite ? x - scale * static_cast<float>(q) : 0.0f;
  }
};

// Where block b of a row of planes lies.
struct PlaneBlock {
  uint8_t* quants;
  uint8_t* head;
};

__device__ __forceinline__ PlaneBlock FindPlane(const PlaneTarget& target, int64_t k, int64_t row,
                                                int plane, int64_t block) {
  const int64_t column = target.residual ? 2 * row + plane : row;
  auto* out = static_cast<uint8_t*>(target.out);
  if (target.columns == 0) {
    uint8_t* at = out + column * target.row_bytes;
    return {at + 32 * block, at + k + 8 * block};
  }
  uint8_t* at = out + block * target.columns * kInterleavedBytes;
  return {at + 32 * column, at + 32 * target.columns + 8 * column};
}

// A warp's 32 values, one a lane; returns what is left out.
__device__ __forceinline__ float QuantizeLane(float x, int lane, const PlaneBlock& to) {
  const BlockScale block(WarpMax(fabsf(x)), __all_sync(0xffffffffu, isfinite(x)) != 0);
  const int q = block.Quantize(x);
  int sum = q;
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const int second = __shfl_sync(0xffffffffu, sum, 16);
  reinterpret_cast<int8_t*>(to.quants)[lane] = static_cast<int8_t>(q);
  if (lane == 0) *reinterpret_cast<float2*>(to.head) = MakeHead(block.scale, sum, second);
  return block.Rest(x, q);
}

// Value `lane` of block `block` of a row, in one plane or two.
__device__ __forceinline__ void QuantizeToPlanes(const PlaneTarget& target, int64_t k, int64_t row,
                                                 int64_t block, int lane, float x) {
  const float rest = QuantizeLane(x, lane, FindPlane(target, k, row, 0, block));
  if (target.residual) QuantizeLane(rest, lane, FindPlane(target, k, row, 1, block));
}

// Eight lanes' 32 values, four a lane; `writes` is false in lanes without a block.
__device__ __forceinline__ float4 QuantizeFour(float4 x, int part, const PlaneBlock& to,
                                               bool writes) {
  // Magnitudes are ordered as their bits are, infinity and what is no number above all others.
  uint32_t largest = max(max(__float_as_uint(fabsf(x.x)), __float_as_uint(fabsf(x.y))),
                         max(__float_as_uint(fabsf(x.z)), __float_as_uint(fabsf(x.w))));
#pragma unroll
  for (int offset = 4; offset > 0; offset /= 2) {
    largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  }
  const BlockScale block(__uint_as_float(largest), largest < 0x7f800000u);
  const int4 q =
      make_int4(block.Quantize(x.x), block.Quantize(x.y), block.Quantize(x.z), block.Quantize(x.w));
  int sum = q.x + q.y + q.z + q.w;
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  const int second = __shfl_xor_sync(0xffffffffu, sum, 4);
  if (writes) {
    reinterpret_cast<char4*>(to.quants)[part] =
        make_char4(static_cast<signed char>(q.x), static_cast<signed char>(q.y),
                   static_cast<signed char>(q.z), static_cast<signed char>(q.w));
    if (part == 0) *reinterpret_cast<float2*>(to.head) = MakeHead(block.scale, sum, second);
  }
  return make_float4(block.Rest(x.x, q.x), block.Rest(x.y, q.y), block.Rest(x.z, q.z),
                     block.Rest(x.w, q.w));
}

}  // namespace minfer::kernels::cuda
