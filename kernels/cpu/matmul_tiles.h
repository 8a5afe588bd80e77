// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product with quantised weights, once for every instruction set.
//
// A tile is V::kRows weight rows by N activation rows. A vector's lanes are the tile's weight rows:
// the rows' bytes are transposed, four at a time, so that one instruction takes the same four
// values of every row against four activations spread to all lanes. Nothing is summed across lanes,
// each output element is one lane of one register, and so its additions have the order of the
// blocks, whatever the tile. The unpacked codes serve all N activation rows of the tile.
//
// V is the traits type of an ISA unit: see matmul_generic.h, which says what each operation means.
// It lives in the unit's namespace, so every function made from these templates is the unit's own.
//
// This file has what all types share; the types are in matmul_tiles_32.h and matmul_tiles_256.h.
#pragma once

#include <bit>

#include "kernels/cpu/matmul_check.h"
#include "kernels/quant/blocks.h"

namespace minfer::kernels {

// One row of weights a lane; lanes past the last row repeat it.
template <class V>
struct TileRows {
  const uint8_t* row[V::kRows];
};

// A type's own way to add blocks for few activation rows, where a unit has one: Add<N> as that of
// the type, for N up to kColumns and kBlocks blocks at a time.
template <class V, class Type>
struct FewRows {
  static constexpr int kColumns = 0;
  static constexpr size_t kBlocks = 1;
};

// Asks for the cache lines `ahead` bytes (0: asks for none) from `offset` in each row: the same
// part of the next tile. The rows of a tile are short streams far apart, which the processor's own
// prefetchers don't follow well: this doubles the speed of a matrix that is not in the caches. Row
// by row, since lines of one row that are asked for in a burst are dropped. A type asks once for
// every 64 bytes of a row or less.
template <class V>
[[gnu::always_inline]] inline void Prefetch(const TileRows<V>& rows, size_t offset, size_t ahead) {
  if (ahead == 0) return;
#pragma GCC unroll 16
  for (int i = 0; i < V::kRows; ++i) V::Prefetch(rows.row[i] + offset + ahead);
}

// The codes of 16 packed bytes a row: values 0..15 in codes[0..3], 16..31 in codes[4..7].
template <class V>
[[gnu::always_inline]] inline void UnpackNibbles(const TileRows<V>& rows, size_t offset,
                                                 typename V::I32* codes) {
  typename V::I32 bytes[4];
  V::LoadTransposed(rows.row, offset, bytes);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    codes[j] = V::And(bytes[j], 0x0f0f0f0fu);
    codes[4 + j] = V::And(V::template ShiftRight<4>(bytes[j]), 0x0f0f0f0fu);
  }
}

// First dword of a block: scale in the low half, whatever follows it in the high half.
template <class V>
[[gnu::always_inline]] inline typename V::I32 LoadFirstDword(const TileRows<V>& rows,
                                                             size_t offset) {
  typename V::I32 head[4];
  V::LoadTransposed(rows.row, offset, head);
  return head[0];
}

template <class V>
[[gnu::always_inline]] inline typename V::F32 LowHalf(typename V::I32 dwords) {
  return V::HalfToFloat(V::And(dwords, 0xffffu));
}

template <class V>
[[gnu::always_inline]] inline typename V::F32 HighHalf(typename V::I32 dwords) {
  return V::HalfToFloat(V::template ShiftRight<16>(dwords));
}

// x * Factor.
template <class V, int Factor>
[[gnu::always_inline]] inline typename V::I32 Times(typename V::I32 x) {
  if constexpr (Factor == 0) {
    return V::Zero();
  } else {
    constexpr int kLow = std::countr_zero(static_cast<unsigned>(Factor));
    const typename V::I32 low = V::template ShiftLeft<kLow>(x);
    if constexpr (Factor == 1 << kLow) {
      return low;
    } else {
      return V::Add(low, Times<V, Factor - (1 << kLow)>(x));
    }
  }
}

// Dwords of codes up to `largest` whose products with quants fit the 16-bit sums of units without
// VNNI: 2 * 127 * largest a dword.
consteval int FittingSteps(int largest) {
  return 128 / static_cast<int>(std::bit_ceil(static_cast<unsigned>(largest)));
}

// dots[n] += the products of `Steps` dwords of codes with the activations at q + n * stride.
template <class V, int N, int Steps>
[[gnu::always_inline]] inline void DotSteps(const typename V::I32* codes, const uint8_t* q,
                                            size_t stride, typename V::Dot* dots) {
#pragma GCC unroll 8
  for (int j = 0; j < Steps; ++j) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      dots[n] =
          V::DotStep(dots[n], codes[j],
                     V::Spread(q + static_cast<size_t>(n) * stride + 4 * static_cast<size_t>(j)));
    }
  }
}

// totals[n] += the dot product of `Steps` dwords of codes, at most Largest each. The sums of
// V::kDotColumns activation rows are in registers at a time.
template <class V, int N, int Largest, int Steps>
[[gnu::always_inline]] inline void AddDots(const typename V::I32* codes, const uint8_t* q,
                                           size_t stride, typename V::I32* totals) {
  constexpr int kFit =
      V::kExactDot || FittingSteps(Largest) > Steps ? Steps : FittingSteps(Largest);
  static_assert(kFit > 0);
  if constexpr (N > V::kDotColumns) {
    constexpr int kFirst = V::kDotColumns;
    AddDots<V, kFirst, Largest, Steps>(codes, q, stride, totals);
    AddDots<V, N - kFirst, Largest, Steps>(codes, q + kFirst * stride, stride, totals + kFirst);
  } else {
#pragma GCC unroll 4
    for (int j = 0; j < Steps; j += kFit) {
      typename V::Dot dots[N];
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(totals[n]);
      DotSteps<V, N, kFit>(codes + j, q + 4 * j, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) totals[n] = V::DotEnd(dots[n], totals[n]);
    }
  }
}

// Codes of whole bytes are signed in units that multiply signed bytes, and 128 more elsewhere.
template <class V>
inline constexpr int kByteExcess = V::kSignedBytes ? 0 : 128;

// The same for 32 codes that use whole bytes. These do not fit 16-bit sums, so a unit without VNNI
// takes their two halves in turn, or their magnitudes where an instruction turns signs.
template <class V, int N>
[[gnu::always_inline]] inline void AddDotsOfBytes(const typename V::I32* codes, const uint8_t* q,
                                                  size_t stride, typename V::I32* totals) {
  if constexpr (V::kExactDot) {
    AddDots<V, N, 255, 8>(codes, q, stride, totals);
  } else if constexpr (V::kSignedBytes && N > V::kDotColumns) {
    constexpr int kFirst = V::kDotColumns;
    AddDotsOfBytes<V, kFirst>(codes, q, stride, totals);
    AddDotsOfBytes<V, N - kFirst>(codes, q + kFirst * stride, stride, totals + kFirst);
  } else if constexpr (V::kSignedBytes) {
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) {
      const typename V::I32 magnitudes = V::AbsBytes(codes[j]);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        const typename V::I32 quants = V::Spread(q + static_cast<size_t>(n) * stride + 4 * j);
        totals[n] = V::SignedDot(totals[n], magnitudes, V::CopySigns(quants, codes[j]));
      }
    }
  } else {
    typename V::I32 halves[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) halves[j] = V::And(codes[j], 0x0f0f0f0fu);
    AddDots<V, N, 15, 8>(halves, q, stride, totals);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      halves[j] = V::And(V::template ShiftRight<4>(codes[j]), 0x0f0f0f0fu);
    }
    typename V::I32 upper[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) upper[n] = V::Zero();
    AddDots<V, N, 15, 8>(halves, q, stride, upper);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      totals[n] = V::Add(totals[n], V::template ShiftLeft<4>(upper[n]));
    }
  }
}

// totals[n] += scale * the dot product of `Steps` dwords of codes, at most Largest each; scale is
// ready for DotEndScaled.
template <class V, int N, int Largest, int Steps>
[[gnu::always_inline]] inline void AddScaledDots(const typename V::I32* codes, const uint8_t* q,
                                                 size_t stride, typename V::I32 scale,
                                                 typename V::I32* totals) {
  constexpr int kFit =
      V::kExactDot || FittingSteps(Largest) > Steps ? Steps : FittingSteps(Largest);
  static_assert(kFit > 0);
  if constexpr (N > V::kDotColumns) {
    constexpr int kFirst = V::kDotColumns;
    AddScaledDots<V, kFirst, Largest, Steps>(codes, q, stride, scale, totals);
    AddScaledDots<V, N - kFirst, Largest, Steps>(codes, q + kFirst * stride, stride, scale,
                                                 totals + kFirst);
  } else {
#pragma GCC unroll 4
    for (int j = 0; j < Steps; j += kFit) {
      typename V::Dot dots[N];
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(V::Zero());
      DotSteps<V, N, kFit>(codes + j, q + 4 * j, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) totals[n] = V::DotEndScaled(totals[n], dots[n], scale);
    }
  }
}

// The sum over `Pairs` dwords of the products of two 16-bit numbers each, of `pairs` and at p.
template <class V, size_t Pairs>
[[gnu::always_inline]] inline typename V::I32 PairSum(const typename V::I32* pairs,
                                                      const uint8_t* p) {
  typename V::I32 sum = V::Zero();
#pragma GCC unroll 8
  for (size_t i = 0; i < Pairs; ++i) sum = V::PairDot(sum, pairs[i], V::Spread(p + 4 * i));
  return sum;
}

// What the 4-bit codes of IQ4_NL and IQ4_XS stand for, 128 more, and as it is.
constexpr uint8_t kIq4Codes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                   129, 141, 153, 166, 181, 197, 217, 241};
constexpr uint8_t kIq4Values[16] = {129, 152, 173, 191, 207, 221, 234, 246,
                                    1,   13,  25,  38,  53,  69,  89,  113};
// Those of MXFP4, for twice the E2M1 values, 12 more.
constexpr uint8_t kE2M1Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

// Turns 32 codes of four bits into what they stand for.
template <class V>
[[gnu::always_inline]] inline void LookUp(const uint8_t* table, typename V::I32* codes) {
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) codes[j] = V::LookUp(table, codes[j]);
}

template <class V>
[[gnu::always_inline]] inline void LookUpIq4(typename V::I32* codes) {
  LookUp<V>(V::kSignedBytes ? kIq4Values : kIq4Codes, codes);
}

}  // namespace minfer::kernels
