// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How MMQ reads super-blocks of 256 weights: one a unit.
#pragma once

#include "kernels/cuda/mmq/mmq_kernel.cuh"

namespace minfer::kernels::cuda {

__device__ __forceinline__ float MmqByteFloat(uint32_t word, int i) {
  return static_cast<float>((word >> (8 * i)) & 255u);
}

// Blocks of 32 with six bits each of scale and min, kHigh: a fifth bit of each code.
template <bool kHigh, int kBlockBytes>
struct MmqScaledType {
  static constexpr int kPitch = kBlockBytes;
  static constexpr bool kHasMin = true;
  static constexpr bool kHalfScales = false;
  static constexpr int kQuantsAt = kHigh ? 48 : 16;

  using Stager = MmqUnitStager<kBlockBytes, kPitch>;

  struct Unit {
    const uint8_t* rows[2];
    int word;
    float scale[2];
    float min[2];
    int first;           // pair of the warp's half
    uint32_t scales[2];  // of its four blocks, a byte each
    uint32_t mins[2];

    __device__ void Load(const uint8_t* at, int lane, int half) {
      rows[0] = at + lane / 4 * kPitch;
      rows[1] = rows[0] + 8 * kPitch;
      word = lane % 4;
      first = 2 * half;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const uint4 head = *reinterpret_cast<const uint4*>(rows[r]);
        const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&head.x));
        scale[r] = both.x;
        min[r] = -both.y;
        scales[r] = half == 0 ? head.y & 0x3f3f3f3fu
                              : (head.w & 0x0f0f0f0fu) | ((head.y >> 2) & 0x30303030u);
        mins[r] = half == 0 ? head.z & 0x3f3f3f3fu
                            : ((head.w >> 4) & 0x0f0f0f0fu) | ((head.z >> 2) & 0x30303030u);
      }
    }

    __device__ void Pair(int i, MmqCodes* codes) const {
      const int j = first + i;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = 16 * half + 4 * word;
          const uint32_t bytes = MmqWordAt(rows[r] + kQuantsAt + 32 * j + at);
          codes->a[0][2 * half + r] = bytes & 0x0f0f0f0fu;
          codes->a[1][2 * half + r] = (bytes >> 4) & 0x0f0f0f0fu;
          if constexpr (kHigh) {
            const uint32_t bits = MmqWordAt(rows[r] + 16 + at) >> (2 * j);
            codes->a[0][2 * half + r] |= (bits & 0x01010101u) << 4;
            codes->a[1][2 * half + r] |= (bits & 0x02020202u) << 3;
          }
        }
        codes->scales[0][r] = scale[r] * MmqByteFloat(scales[r], 2 * i);
        codes->scales[1][r] = scale[r] * MmqByteFloat(scales[r], 2 * i + 1);
      }
    }

    __device__ void Mins(int lane, float* out, float* factors) const {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        out[r] = MmqByteFloat(mins[r], lane % 4);
        factors[r] = min[r];
      }
    }
  };
};

template <>
struct MmqType<ElementType::kQ4_K> : MmqScaledType<false, 144> {};
template <>
struct MmqType<ElementType::kQ5_K> : MmqScaledType<true, 176> {};

template <>
struct MmqType<ElementType::kQ6_K> {
  static constexpr int kPitch = 240;
  static constexpr bool kHasMin = false;
  static constexpr bool kHalfScales = true;

  using Stager = MmqUnitStager<224, kPitch>;

  struct Unit {
    const uint8_t* rows[2];
    int word;
    int half;
    float scale[2];

    __device__ void Load(const uint8_t* at, int lane, int warp_half) {
      rows[0] = at + lane / 4 * kPitch;
      rows[1] = rows[0] + 8 * kPitch;
      word = lane % 4;
      half = warp_half;
      scale[0] = HalfAt(rows[0] + 208);
      scale[1] = HalfAt(rows[1] + 208);
    }

    // Groups 2 i and the next of the half: low or high nibbles of the first and the second 32
    // bytes, and two bits each of the 32 high bytes.
    __device__ void Pair(int i, MmqCodes* codes) const {
      const int shift = i * 4;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = 16 * h + 4 * word;
          const uint32_t high = MmqWordAt(rows[r] + 128 + 32 * half + at) >> shift;
          const uint32_t first = MmqWordAt(rows[r] + 64 * half + at) >> shift;
          const uint32_t second = MmqWordAt(rows[r] + 64 * half + 32 + at) >> shift;
          codes->a[0][2 * h + r] = Join(first, high << 4);
          codes->a[1][2 * h + r] = Join(second, high << 2);
        }
        const uint32_t scales = MmqWordAt(rows[r] + 192 + 8 * half + 4 * i);
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          codes->scales[b][r] = scale[r];
          codes->half_scales[b][2 * r] = static_cast<int8_t>(scales >> (16 * b));
          codes->half_scales[b][2 * r + 1] = static_cast<int8_t>(scales >> (16 * b + 8));
        }
      }
    }

   private:
    // Codes 0..63, less 32.
    __device__ static uint32_t Join(uint32_t low, uint32_t high) {
      const uint32_t codes = (low & 0x0f0f0f0fu) | (high & 0x30303030u);
      return ((codes | 0x80808080u) - 0x20202020u) ^ 0x80808080u;
    }
  };
};

}  // namespace minfer::kernels::cuda
