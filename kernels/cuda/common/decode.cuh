// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Decodes eight values of a weight row in the layout of row_layout.h, bit for bit as DequantizeRow
// does: each product and each difference is one f32 rounding.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

__device__ __forceinline__ float HalfAt(const uint8_t* p) {
  return __half2float(*reinterpret_cast<const __half*>(p));
}

__device__ __forceinline__ float BFloat16Of(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// Nibble i of eight bytes, the low one or the high one.
__device__ __forceinline__ int NibbleOf(uint2 bytes, int i, bool high) {
  const uint32_t word = i < 4 ? bytes.x : bytes.y;
  return static_cast<int>((word >> (8 * (i & 3) + (high ? 4 : 0))) & 15u);
}

__device__ __forceinline__ int ByteOf(uint2 bytes, int i) {
  return static_cast<int>(((i < 4 ? bytes.x : bytes.y) >> (8 * (i & 3))) & 255u);
}

__device__ __forceinline__ uint2 EightBytes(const uint8_t* p) {
  return *reinterpret_cast<const uint2*>(p);
}

// Scale and min of sub-block j of Q4_K and Q5_K.
__device__ __forceinline__ int2 SubScaleMin(const uint8_t* scales, int j) {
  if (j < 4) return make_int2(scales[j] & 63, scales[j + 4] & 63);
  return make_int2((scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4,
                   (scales[j + 4] >> 4) | (scales[j] >> 6) << 4);
}

__device__ __forceinline__ int Iq4Value(int code) {
  // -127 -104 -83 -65 | -49 -35 -22 -10 | 1 13 25 38 | 53 69 89 113, a byte each.
  const uint32_t words[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
  return static_cast<int8_t>((words[code >> 2] >> (8 * (code & 3))) & 255u);
}

// Decode(row, k, i, out): values i .. i + 7 of a row of k, i a multiple of 8.
template <ElementType type>
struct RowDecoder;

template <>
struct RowDecoder<ElementType::kF32> {
  static constexpr bool kIsFloat = true;
  __device__ static float One(const uint8_t* row, int64_t i) {
    return reinterpret_cast<const float*>(row)[i];
  }
};

template <>
struct RowDecoder<ElementType::kF16> {
  static constexpr bool kIsFloat = true;
  __device__ static float One(const uint8_t* row, int64_t i) { return HalfAt(row + 2 * i); }
};

template <>
struct RowDecoder<ElementType::kBF16> {
  static constexpr bool kIsFloat = true;
  __device__ static float One(const uint8_t* row, int64_t i) {
    return BFloat16Of(reinterpret_cast<const uint16_t*>(row)[i]);
  }
};

// Four-bit codes of blocks of 32: low halves first.
__device__ __forceinline__ uint2 NibbleBytes(const uint8_t* row, int64_t i, bool* high) {
  *high = (i & 16) != 0;
  return EightBytes(row + i / 32 * 16 + (i & 8));
}

template <>
struct RowDecoder<ElementType::kQ4_0> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const float scale = HalfAt(row + k / 2 + i / 32 * 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) out[v] = scale * static_cast<float>(NibbleOf(bytes, v, high) - 8);
  }
};

template <>
struct RowDecoder<ElementType::kIQ4_NL> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const float scale = HalfAt(row + k / 2 + i / 32 * 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = scale * static_cast<float>(Iq4Value(NibbleOf(bytes, v, high)));
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ4_1> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const uint8_t* head = row + k / 2 + i / 32 * 4;
    const float scale = HalfAt(head);
    const float min = HalfAt(head + 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = scale * static_cast<float>(NibbleOf(bytes, v, high)) + min;
    }
  }
};

// The eight high bits of values i .. i + 7 of a block of 32.
__device__ __forceinline__ uint32_t HighBits(const uint8_t* row, int64_t k, int64_t i) {
  return row[k / 2 + i / 32 * 4 + (i & 31) / 8];
}

template <>
struct RowDecoder<ElementType::kQ5_0> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const uint32_t bits = HighBits(row, k, i);
    const float scale = HalfAt(row + k / 2 + k / 8 + i / 32 * 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = NibbleOf(bytes, v, high) | static_cast<int>((bits >> v) & 1u) << 4;
      out[v] = scale * static_cast<float>(code - 16);
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ5_1> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const uint32_t bits = HighBits(row, k, i);
    const uint8_t* head = row + k / 2 + k / 8 + i / 32 * 4;
    const float scale = HalfAt(head);
    const float min = HalfAt(head + 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = NibbleOf(bytes, v, high) | static_cast<int>((bits >> v) & 1u) << 4;
      out[v] = scale * static_cast<float>(code) + min;
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ8_0> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    const uint2 bytes = EightBytes(row + i);
    const float scale = HalfAt(row + k + i / 32 * 2);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = scale * static_cast<float>(static_cast<int8_t>(ByteOf(bytes, v)));
    }
  }
};

template <>
struct RowDecoder<ElementType::kMXFP4> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t k, int64_t i, float* out) {
    bool high;
    const uint2 bytes = NibbleBytes(row, i, &high);
    const uint32_t e = row[k / 2 + i / 32];
    // Half of 2^(e - 127), subnormal for the two smallest exponents.
    const float scale = __uint_as_float(e < 2 ? 0x00200000u << e : (e - 1) << 23);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = NibbleOf(bytes, v, high);
      // Twice the E2M1 values 0 .5 1 1.5 2 3 4 6, a nibble each.
      const int magnitude = static_cast<int>((0xc8643210u >> (4 * (code & 7))) & 15u);
      out[v] = scale * static_cast<float>((code & 8) != 0 ? -magnitude : magnitude);
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ4_K> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 144;
    const int at = static_cast<int>(i & 255);
    const int j = at / 32;
    const int2 sub = SubScaleMin(block + 4, j);
    const float factor = HalfAt(block) * static_cast<float>(sub.x);
    const float offset = HalfAt(block + 2) * static_cast<float>(sub.y);
    const uint2 bytes = EightBytes(block + 16 + 32 * (j / 2) + (at & 31));
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = factor * static_cast<float>(NibbleOf(bytes, v, (j & 1) != 0)) - offset;
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ5_K> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 176;
    const int at = static_cast<int>(i & 255);
    const int j = at / 32;
    const int2 sub = SubScaleMin(block + 4, j);
    const float factor = HalfAt(block) * static_cast<float>(sub.x);
    const float offset = HalfAt(block + 2) * static_cast<float>(sub.y);
    const uint2 high = EightBytes(block + 16 + (at & 31));
    const uint2 bytes = EightBytes(block + 48 + 32 * (j / 2) + (at & 31));
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = NibbleOf(bytes, v, (j & 1) != 0) | ((ByteOf(high, v) >> j) & 1) << 4;
      out[v] = factor * static_cast<float>(code) - offset;
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ6_K> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 224;
    const int at = static_cast<int>(i & 255);
    const int half = at / 128;
    const int group = at / 32 % 4;
    const float factor =
        HalfAt(block + 208) * static_cast<float>(static_cast<int8_t>(block[192 + at / 16]));
    const uint2 low = EightBytes(block + 64 * half + 32 * (group & 1) + (at & 31));
    const uint2 high = EightBytes(block + 128 + 32 * half + (at & 31));
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = NibbleOf(low, v, group >= 2) | ((ByteOf(high, v) >> (2 * group)) & 3) << 4;
      out[v] = factor * static_cast<float>(code - 32);
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ2_K> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 84;
    const int at = static_cast<int>(i & 255);
    const int s = block[at / 16];
    const float factor = HalfAt(block + 80) * static_cast<float>(s & 15);
    const float offset = HalfAt(block + 82) * static_cast<float>(s >> 4);
    const uint8_t* quants = block + 16 + 32 * (at / 128) + (at & 31);
    const int shift = 2 * (at / 32 % 4);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = factor * static_cast<float>((quants[v] >> shift) & 3) - offset;
    }
  }
};

template <>
struct RowDecoder<ElementType::kQ3_K> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 112;
    const int at = static_cast<int>(i & 255);
    const int j = at / 16;
    const uint8_t* scales = block + 96;
    const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
    const int top = (scales[8 + j % 4] >> (2 * (j / 4))) & 3;
    const float factor = HalfAt(block + 108) * static_cast<float>((low | top << 4) - 32);
    const uint8_t* quants = block + 32 + 32 * (at / 128) + (at & 31);
    const uint8_t* high = block + (at & 31);
    const int shift = 2 * (at / 32 % 4);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const int code = ((quants[v] >> shift) & 3) | ((high[v] >> (at / 32)) & 1) << 2;
      out[v] = factor * static_cast<float>(code - 4);
    }
  }
};

template <>
struct RowDecoder<ElementType::kIQ4_XS> {
  static constexpr bool kIsFloat = false;
  __device__ static void Decode(const uint8_t* row, int64_t, int64_t i, float* out) {
    const uint8_t* block = row + i / 256 * 136;
    const int at = static_cast<int>(i & 255);
    const int j = at / 32;
    const int low = (block[4 + j / 2] >> (4 * (j & 1))) & 15;
    const int top = (*reinterpret_cast<const uint16_t*>(block + 2) >> (2 * j)) & 3;
    const float factor = HalfAt(block) * static_cast<float>((low | top << 4) - 32);
    const uint2 bytes = EightBytes(block + 8 + 16 * j + (at & 8));
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      out[v] = factor * static_cast<float>(Iq4Value(NibbleOf(bytes, v, (at & 16) != 0)));
    }
  }
};

// Values i .. i + 7 of a row; those past its end, which only rows of floats have, are zero.
template <ElementType type>
__device__ __forceinline__ void DecodeEight(const uint8_t* row, int64_t k, int64_t i, float* out) {
  if constexpr (RowDecoder<type>::kIsFloat) {
#pragma unroll
    for (int v = 0; v < 8; ++v) out[v] = i + v < k ? RowDecoder<type>::One(row, i + v) : 0.0f;
  } else {
    RowDecoder<type>::Decode(row, k, i, out);
  }
}

}  // namespace minfer::kernels::cuda
