// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How MMQ reads blocks of 32 weights: eight blocks a unit, from the planes of a row.
#pragma once

#include "kernels/cuda/mmq/mmq_kernel.cuh"

namespace minfer::kernels::cuda {

// What a lane reads of a unit: its two rows, its word of each, and its half's first pair.
template <int kPitch>
struct MmqLaneRows {
  const uint8_t* rows[2];
  int word;
  int first;

  __device__ void Load(const uint8_t* at, int lane, int half) {
    rows[0] = at + lane / 4 * kPitch;
    rows[1] = rows[0] + 8 * kPitch;
    word = lane % 4;
    first = 2 * half;
  }
};

__device__ __forceinline__ float2 MmqHalfPairAt(const uint8_t* p) {
  return __half22float2(*reinterpret_cast<const __half2*>(p));
}

// Four unsigned bytes below 128, less an offset.
__device__ __forceinline__ uint32_t MmqLessOffset(uint32_t bytes, uint32_t offset) {
  return ((bytes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

// Bit i of four goes to bit 4 of byte i.
__device__ __forceinline__ uint32_t MmqFifthBits(uint32_t bits) {
  return (((bits & 15u) * 0x00204081u) & 0x01010101u) << 4;
}

// kHigh: bytes of high bits a unit; kMins: a min beside each scale; kOffset: taken from each code.
template <int kHigh, bool kMins, uint32_t kOffset, int kRowPitch>
struct MmqNibbleType {
  static constexpr int kPitch = kRowPitch;
  static constexpr bool kHasMin = kMins;
  static constexpr bool kHalfScales = false;
  static constexpr int kScaleBytes = kMins ? 32 : 16;
  static constexpr int kScalesAt = 128 + kHigh;

  struct Stager {
    MmqPlane<128, kPitch, true> quants;
    MmqPlane<(kHigh == 0 ? 16 : kHigh), kPitch, true> high;
    MmqPlane<kScaleBytes, kPitch, true> scales;

    __device__ void Start(const MmqRowsOf& rows, uint32_t row_bytes, int64_t k, int u) {
      const int64_t scales_at = k / 2 + (kHigh != 0 ? k / 8 : 0);
      quants.Start(rows, row_bytes, 0, k / 2, u);
      if constexpr (kHigh != 0) high.Start(rows, row_bytes, k / 2, k / 8, u);
      scales.Start(rows, row_bytes, scales_at, row_bytes - scales_at, u);
    }
    template <bool kRaw = true>
    __device__ __forceinline__ void Copy(uint8_t* to) {
      quants.template Copy<kRaw>(to);
      if constexpr (kHigh != 0) high.template Copy<kRaw>(to + 128);
      scales.template Copy<kRaw>(to + kScalesAt);
    }
  };

  struct Unit : MmqLaneRows<kPitch> {
    using MmqLaneRows<kPitch>::rows, MmqLaneRows<kPitch>::word, MmqLaneRows<kPitch>::first;

    __device__ void Pair(int i, MmqCodes* codes) const {
      const int j = first + i;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          const uint32_t bytes = MmqWordAt(rows[r] + 16 * (2 * j + b) + 4 * word);
          uint32_t low = bytes & 0x0f0f0f0fu;
          uint32_t high = (bytes >> 4) & 0x0f0f0f0fu;
          if constexpr (kHigh != 0) {
            const uint32_t bits = MmqWordAt(rows[r] + 128 + 4 * (2 * j + b)) >> (4 * word);
            low |= MmqFifthBits(bits);
            high |= MmqFifthBits(bits >> 16);
          }
          codes->a[b][r] = kOffset == 0 ? low : MmqLessOffset(low, kOffset);
          codes->a[b][2 + r] = kOffset == 0 ? high : MmqLessOffset(high, kOffset);
        }
        if constexpr (kMins) {
          codes->scales[0][r] = HalfAt(rows[r] + kScalesAt + 8 * j);
          codes->scales[1][r] = HalfAt(rows[r] + kScalesAt + 8 * j + 4);
        } else {
          const float2 scales = MmqHalfPairAt(rows[r] + kScalesAt + 4 * j);
          codes->scales[0][r] = scales.x;
          codes->scales[1][r] = scales.y;
        }
      }
    }

    __device__ void Mins(int lane, float* mins, float* factors) const {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        mins[r] = HalfAt(rows[r] + kScalesAt + 4 * (2 * first + lane % 4) + 2);
        factors[r] = 1.0f;
      }
    }
  };
};

template <>
struct MmqType<ElementType::kQ4_0> : MmqNibbleType<0, false, 8, 144> {};
template <>
struct MmqType<ElementType::kQ4_1> : MmqNibbleType<0, true, 0, 176> {};
template <>
struct MmqType<ElementType::kQ5_0> : MmqNibbleType<32, false, 16, 176> {};
template <>
struct MmqType<ElementType::kQ5_1> : MmqNibbleType<32, true, 0, 208> {};

template <>
struct MmqType<ElementType::kQ8_0> {
  static constexpr int kPitch = 272;
  static constexpr bool kHasMin = false;
  static constexpr bool kHalfScales = false;

  struct Stager {
    MmqPlane<256, kPitch, true> quants;
    MmqPlane<16, kPitch, true> scales;

    __device__ void Start(const MmqRowsOf& rows, uint32_t row_bytes, int64_t k, int u) {
      quants.Start(rows, row_bytes, 0, k, u);
      scales.Start(rows, row_bytes, k, row_bytes - k, u);
    }
    template <bool kRaw = true>
    __device__ __forceinline__ void Copy(uint8_t* to) {
      quants.template Copy<kRaw>(to);
      scales.template Copy<kRaw>(to + 256);
    }
  };

  struct Unit : MmqLaneRows<kPitch> {
    using MmqLaneRows<kPitch>::rows, MmqLaneRows<kPitch>::word, MmqLaneRows<kPitch>::first;

    __device__ void Pair(int i, MmqCodes* codes) const {
      const int j = first + i;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          codes->a[b][r] = MmqWordAt(rows[r] + 32 * (2 * j + b) + 4 * word);
          codes->a[b][2 + r] = MmqWordAt(rows[r] + 32 * (2 * j + b) + 16 + 4 * word);
        }
        const float2 scales = MmqHalfPairAt(rows[r] + 256 + 4 * j);
        codes->scales[0][r] = scales.x;
        codes->scales[1][r] = scales.y;
      }
    }
  };
};

}  // namespace minfer::kernels::cuda
