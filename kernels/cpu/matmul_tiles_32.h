// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The tiles of the types with blocks of 32 values; see matmul_tiles.h.
#pragma once

#include <cstddef>

#include "kernels/cpu/matmul_tiles.h"

namespace minfer::kernels {

// One block's weights, unpacked: value = scale * (code - kExcess) + min.
template <class V>
struct Unpacked32 {
  typename V::I32 codes[8];
  typename V::F32 scale;
  typename V::F32 min;  // of types with kHasMin
};

// A format says how its block is unpacked, the largest code, how much its codes stand too high, and
// whether there is a min.
template <class Format>
struct Tile32 {
  static constexpr size_t kWeightBytes = sizeof(typename Format::Block);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock32);
  static constexpr int kValues = kBlock;

  // Adds one block's products to sums[0..N) and asks for the bytes `ahead` of it.
  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, size_t ahead) {
    Prefetch<V>(rows, offset, ahead);
    Unpacked32<V> w;
    Format::template Unpack<V>(rows, offset, w);
    constexpr bool kBytes = Format::kLargest > 127;
    constexpr int kExcess = kBytes ? kByteExcess<V> : Format::kExcess;
    typename V::I32 totals[N];  // from -kExcess * sum(q)
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      totals[n] = Times<V, kExcess>(V::Spread(a + n * stride + kNegatedSum));
    }
    if constexpr (kBytes) {
      AddDotsOfBytes<V, N>(w.codes, a + kQuants, stride, totals);
    } else {
      AddDots<V, N, Format::kLargest, 8>(w.codes, a + kQuants, stride, totals);
    }
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(w.scale, V::SpreadFloat(a + n * stride + kScale));
      sums[n] = V::Fma(V::ToFloat(totals[n]), factor, sums[n]);
      if constexpr (Format::kHasMin) {
        sums[n] = V::Fma(w.min, V::SpreadFloat(a + n * stride + kScaledSum), sums[n]);
      }
    }
  }

 private:
  static constexpr size_t kScale = offsetof(ActivationBlock32, scale);
  static constexpr size_t kScaledSum = offsetof(ActivationBlock32, scaled_sum);
  static constexpr size_t kNegatedSum = offsetof(ActivationBlock32, negated_sum);
  static constexpr size_t kQuants = offsetof(ActivationBlock32, quants);
};

// Adds the fifth bits: bit i of `bits` belongs to code i.
template <class V>
[[gnu::always_inline]] inline void AddFifthBits(typename V::I32 bits, typename V::I32* codes) {
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) codes[j] = V::AddFifthBits(codes[j], bits, j);
}

struct FormatQ4_0 {
  using Block = BlockQ4_0;
  static constexpr int kLargest = 15;
  static constexpr int kExcess = 8;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    UnpackNibbles<V>(rows, offset + 2, w.codes);
    w.scale = LowHalf<V>(LoadFirstDword<V>(rows, offset));
  }
};

struct FormatQ4_1 {
  using Block = BlockQ4_1;
  static constexpr int kLargest = 15;
  static constexpr int kExcess = 0;
  static constexpr bool kHasMin = true;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    UnpackNibbles<V>(rows, offset + 4, w.codes);
    const typename V::I32 head = LoadFirstDword<V>(rows, offset);
    w.scale = LowHalf<V>(head);
    w.min = HighHalf<V>(head);
  }
};

struct FormatQ5_0 {
  using Block = BlockQ5_0;
  static constexpr int kLargest = 31;
  static constexpr int kExcess = 16;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    typename V::I32 head[4];  // the scale, and the bits across two dwords
    V::LoadTransposed(rows.row, offset, head);
    UnpackNibbles<V>(rows, offset + 6, w.codes);
    AddFifthBits<V>(V::Or(V::template ShiftRight<16>(head[0]), V::template ShiftLeft<16>(head[1])),
                    w.codes);
    w.scale = LowHalf<V>(head[0]);
  }
};

struct FormatQ5_1 {
  using Block = BlockQ5_1;
  static constexpr int kLargest = 31;
  static constexpr int kExcess = 0;
  static constexpr bool kHasMin = true;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    typename V::I32 head[4];
    V::LoadTransposed(rows.row, offset, head);
    UnpackNibbles<V>(rows, offset + 8, w.codes);
    AddFifthBits<V>(head[1], w.codes);
    w.scale = LowHalf<V>(head[0]);
    w.min = HighHalf<V>(head[0]);
  }
};

struct FormatQ8_0 {
  using Block = BlockQ8_0;
  static constexpr int kLargest = 255;  // as unsigned: 128 more
  static constexpr int kExcess = 128;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    V::LoadTransposed(rows.row, offset + 2, w.codes);
    V::LoadTransposed(rows.row, offset + 18, w.codes + 4);
    if constexpr (!V::kSignedBytes) {
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) w.codes[j] = V::Xor(w.codes[j], 0x80808080u);
    }
    w.scale = LowHalf<V>(LoadFirstDword<V>(rows, offset));
  }
};

struct FormatIQ4_NL {
  using Block = BlockIQ4_NL;
  static constexpr int kLargest = 241;
  static constexpr int kExcess = 128;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    UnpackNibbles<V>(rows, offset + 2, w.codes);
    LookUpIq4<V>(w.codes);
    w.scale = LowHalf<V>(LoadFirstDword<V>(rows, offset));
  }
};

struct FormatMXFP4 {
  using Block = BlockMXFP4;
  static constexpr int kLargest = 24;
  static constexpr int kExcess = 12;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   Unpacked32<V>& w) {
    UnpackNibbles<V>(rows, offset + 1, w.codes);
    LookUp<V>(kE2M1Codes, w.codes);
    w.scale = Scale<V>(V::And(LoadFirstDword<V>(rows, offset), 0xffu));
  }

 private:
  // 2^(exponent - 128), which may be subnormal: the product of two powers that are not.
  template <class V>
  [[gnu::always_inline]] static inline typename V::F32 Scale(typename V::I32 exponent) {
    const typename V::I32 half = V::template ShiftRight<1>(exponent);
    return V::Mul(PowerOfTwo<V>(half), PowerOfTwo<V>(V::Sub(exponent, half)));
  }
  // 2^(exponent - 64) of exponents 0 to 128.
  template <class V>
  [[gnu::always_inline]] static inline typename V::F32 PowerOfTwo(typename V::I32 exponent) {
    const typename V::I32 bias = V::Xor(V::Zero(), 63);
    return V::AsFloat(V::template ShiftLeft<23>(V::Add(exponent, bias)));
  }
};

}  // namespace minfer::kernels
