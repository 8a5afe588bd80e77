// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Tiles of few activation rows for AVX-512 VNNI, of the types that gain by them.
//
// With one or two activation rows most of a tile's time goes into transposing the weights (see
// matmul_tiles.h). Here a vector lies along a weight row instead: sixteen 32-bit sums a row, and
// only those are transposed and added up. Integers add up to the same in any order, and what
// follows them is the float arithmetic of the other tiles, lane for lane. One row of a cached
// matrix, EPYC of 2022: Q6_K 63 to 81 GOP/s, Q4_0 80 to 100, IQ4_NL 72 to 87; Q4_K and Q2_K gain
// nothing.
#pragma once

#include "kernels/cpu/matmul_avx512_vnni.h"
#include "kernels/cpu/matmul_tiles_256.h"
#include "kernels/cpu/matmul_tiles_32.h"

namespace minfer::kernels::avx512_vnni {

using V = MatMulTraits;

[[gnu::always_inline]] inline __m512i LowNibbles(__m512i bytes) {
  return V::And(bytes, 0x0f0f0f0fu);
}
[[gnu::always_inline]] inline __m512i HighNibbles(__m512i bytes) {
  return V::And(V::ShiftRight<4>(bytes), 0x0f0f0f0fu);
}
// Bits `mask` of b into a, which has none of them.
[[gnu::always_inline]] inline __m512i AddBits(__m512i a, __m512i b, uint32_t mask) {
  constexpr int kAOrBAndMask = 0xf8;
  return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi32(static_cast<int>(mask)), kAOrBAndMask);
}
// Four times 16 bytes, `stride` apart. By half vectors, since a load into a part of a whole one
// keeps a load unit for as long as a whole one does.
[[gnu::always_inline]] inline __m512i LoadFour16(const uint8_t* p, size_t stride) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(V::Load16Bytes(p)),
                                              V::Load16Bytes(p + stride), 1);
  const __m256i high = _mm256_inserti128_si256(
      _mm256_castsi128_si256(V::Load16Bytes(p + 2 * stride)), V::Load16Bytes(p + 3 * stride), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Lane i of quarter q of the result: the sum of quarter q of rows[i], whose values are `Largest` at
// most.
template <int64_t Largest>
[[gnu::always_inline]] inline __m512i AddUpQuarters(const __m512i* rows) {
  if constexpr (2 * Largest <= INT16_MAX) {
    const __m512i ones = _mm512_set1_epi16(1);
    const __m512i low = _mm512_madd_epi16(_mm512_packs_epi32(rows[0], rows[1]), ones);
    const __m512i high = _mm512_madd_epi16(_mm512_packs_epi32(rows[2], rows[3]), ones);
    return _mm512_madd_epi16(_mm512_packs_epi32(low, high), ones);
  } else {
    const __m512i low = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[0], rows[1]),
                                         _mm512_unpackhi_epi32(rows[0], rows[1]));
    const __m512i high = _mm512_add_epi32(_mm512_unpacklo_epi32(rows[2], rows[3]),
                                          _mm512_unpackhi_epi32(rows[2], rows[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
  }
}
// Lane 4 g + i of the result: the sum of lane i of the quarters of groups[g].
[[gnu::always_inline]] inline __m512i AddUpGroups(const __m512i* groups) {
  const __m512i low = _mm512_add_epi32(_mm512_shuffle_i32x4(groups[0], groups[1], 0x44),
                                       _mm512_shuffle_i32x4(groups[0], groups[1], 0xee));
  const __m512i high = _mm512_add_epi32(_mm512_shuffle_i32x4(groups[2], groups[3], 0x44),
                                        _mm512_shuffle_i32x4(groups[2], groups[3], 0xee));
  return _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88),
                          _mm512_shuffle_i32x4(low, high, 0xdd));
}
// Quarter g of out[q]: quarter q of groups[g].
[[gnu::always_inline]] inline void TransposeQuarters(const __m512i* groups, __m512i* out) {
  const __m512i low01 = _mm512_shuffle_i32x4(groups[0], groups[1], 0x44);
  const __m512i high01 = _mm512_shuffle_i32x4(groups[0], groups[1], 0xee);
  const __m512i low23 = _mm512_shuffle_i32x4(groups[2], groups[3], 0x44);
  const __m512i high23 = _mm512_shuffle_i32x4(groups[2], groups[3], 0xee);
  out[0] = _mm512_shuffle_i32x4(low01, low23, 0x88);
  out[1] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
  out[2] = _mm512_shuffle_i32x4(high01, high23, 0x88);
  out[3] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
}

// Q6_K. The dots of four values are 16 bits wide, so that VPDPWSSD multiplies them by the scales of
// their sub-blocks (the upper halves, which are signs, by zero) and adds them to the row's sums.
struct FewQ6_K {
  // The four vectors of 64 codes of a row's block. The lines `ahead` are asked for in two parts
  // with work in between: four at once are dropped so often that a long matrix takes half as long
  // again.
  [[gnu::always_inline]] static inline void Unpack(const uint8_t* row, size_t ahead,
                                                   __m512i* codes) {
    // Where a half's two groups of 32 have their upper bits: to bits 4 and 5.
    const __m512i low_groups = _mm512_inserti64x4(_mm512_set1_epi32(4), _mm256_set1_epi32(2), 1);
    const __m512i high_groups =
        _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(32 - 2), 1);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const __m512i low = _mm512_loadu_si512(row + 64 * h);
      const __m512i high =
          _mm512_broadcast_i64x4(V::Load32Bytes(row + offsetof(BlockQ6_K, high) + 32 * h));
      V::Prefetch(row + 128 * h + ahead);
      V::Prefetch(row + 128 * h + 64 + ahead);
      codes[2 * h] = AddBits(LowNibbles(low), _mm512_rolv_epi32(high, low_groups), 0x30303030u);
      codes[2 * h + 1] =
          AddBits(HighNibbles(low), _mm512_rolv_epi32(high, high_groups), 0x30303030u);
    }
  }
  [[gnu::always_inline]] static inline __m256i Scales(const uint8_t* row) {
    return _mm256_cvtepi8_epi16(V::Load16Bytes(row + offsetof(BlockQ6_K, scales)));
  }
  // Scale 4 v + q in quarter q, its upper half zero.
  [[gnu::always_inline]] static inline __m512i SpreadScales(__m512i scales, int v) {
    const __m512i first = _mm512_set1_epi32(4 * v);
    return _mm512_permutexvar_epi32(
        _mm512_add_epi32(first, _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)),
        scales);
  }
  // sums[n]: of one row, for activation rows from a.
  template <int N>
  [[gnu::always_inline]] static inline void AddRow(const uint8_t* row, size_t ahead,
                                                   const uint8_t* a, size_t stride,
                                                   const __m512i (*quants)[4], __m512i* sums) {
    __m512i codes[4];
    Unpack(row, ahead, codes);
    const __m256i scales = Scales(row);
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {  // the codes stand 32 too high
      const __m256i block_sums = V::Load32Bytes(a + static_cast<size_t>(n) * stride + kSums16);
      const __m256i excess = _mm256_slli_epi32(_mm256_madd_epi16(scales, block_sums), 5);
      sums[n] = _mm512_zextsi256_si512(_mm256_sub_epi32(_mm256_setzero_si256(), excess));
    }
    const __m512i dwords = _mm512_cvtepu16_epi32(scales);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512i spread = SpreadScales(dwords, v);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) {
        const __m512i dot = _mm512_dpbusd_epi32(V::Zero(), codes[v], quants[n][v]);
        sums[n] = _mm512_dpwssd_epi32(sums[n], dot, spread);
      }
    }
  }

  template <int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride, __m512* sums,
                                                size_t ahead) {
    __m512i quants[N][4];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      const uint8_t* q = a + static_cast<size_t>(n) * stride + kQuants256;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) quants[n][v] = _mm512_loadu_si512(q + 64 * v);
    }
    __m512i groups[N][4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      __m512i row_sums[N][4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const uint8_t* row = rows.row[4 * g + i] + offset;
        __m512i one_row[N];
        AddRow<N>(row, ahead, a, stride, quants, one_row);
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) row_sums[n][i] = one_row[n];
      }
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) groups[n][g] = AddUpQuarters<INT32_MAX>(row_sums[n]);
    }
    Scales16<V> w;
    FormatQ6_K::UnpackScales<V>(rows, offset, w);
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      const __m512 factor = V::SpreadFloat(a + static_cast<size_t>(n) * stride + kScale256);
      sums[n] = V::Fma(V::ToFloat(AddUpGroups(groups[n])), V::Mul(w.scale, factor), sums[n]);
    }
  }
};

// The 16-bit words with the scales of four blocks: word 8 b + r of words[h] is that of block b of
// row 8 h + r.
template <size_t BlockBytes>
struct ScaleWords {
  __m512i words[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

  // p: the first of the row's four blocks.
  [[gnu::always_inline]] inline void Take(const uint8_t* p, int row) {
    static_assert(BlockBytes % 2 == 0 && 3 * BlockBytes < 64 && 4 * BlockBytes >= 64);
    constexpr int64_t kNext = 0x0001000100010001 * (BlockBytes / 2);
    const __m512i from =
        _mm512_setr_epi64(0, 0, kNext, kNext, 2 * kNext, 2 * kNext, 3 * kNext, 3 * kNext);
    const auto mask = static_cast<__mmask32>(0x01010101u << (row % 8));
    words[row / 8] =
        _mm512_mask_permutexvar_epi16(words[row / 8], mask, from, _mm512_loadu_si512(p));
  }
  // Those of block b, a row a lane.
  [[gnu::always_inline]] inline __m512 Of(int b) const {
    const __m512i order = b < 2 ? _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11)
                                : _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const __m512i pair = _mm512_permutex2var_epi64(words[0], order, words[1]);
    return _mm512_cvtph_ps(b % 2 == 0 ? _mm512_castsi512_si256(pair)
                                      : _mm512_extracti64x4_epi64(pair, 1));
  }
};

// Q4_0 and IQ4_NL, whose codes are looked up: four blocks at a time, one a quarter of a vector.
template <class Format, bool kLookUp>
struct Few32 {
  static constexpr size_t kBytes = sizeof(typename Format::Block);
  static constexpr size_t kCodes = offsetof(typename Format::Block, quants);
  static constexpr int64_t kLargestSum = int64_t{8} * 127 * Format::kLargest;  // of eight products

  [[gnu::always_inline]] static inline __m512i Meaning(__m512i codes) {
    if constexpr (kLookUp) return V::LookUp(kIq4Codes, codes);
    return codes;
  }

  // Adds four blocks' products to sums[0..N) and asks for the bytes `ahead` of them.
  template <int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride, __m512* sums,
                                                size_t ahead) {
    __m512i quants[N][2];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      const uint8_t* q = a + static_cast<size_t>(n) * stride + offsetof(ActivationBlock32, quants);
      quants[n][0] = LoadFour16(q, sizeof(ActivationBlock32));
      quants[n][1] = LoadFour16(q + 16, sizeof(ActivationBlock32));
    }
    ScaleWords<kBytes> scales;
    __m512i groups[N][4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      __m512i dots[N][4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const uint8_t* row = rows.row[4 * g + i] + offset;
        V::Prefetch(row + ahead);
        V::Prefetch(row + 2 * kBytes + ahead);
        scales.Take(row, 4 * g + i);
        const __m512i bytes = LoadFour16(row + kCodes, kBytes);
        const __m512i low = Meaning(LowNibbles(bytes));
        const __m512i high = Meaning(HighNibbles(bytes));
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) {
          const __m512i dot = _mm512_dpbusd_epi32(V::Zero(), low, quants[n][0]);
          dots[n][i] = _mm512_dpbusd_epi32(dot, high, quants[n][1]);
        }
      }
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) groups[n][g] = AddUpQuarters<kLargestSum>(dots[n]);
    }
    __m512i totals[N][4];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) TransposeQuarters(groups[n], totals[n]);
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      const __m512 scale = scales.Of(b);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) {
        const uint8_t* block = a + static_cast<size_t>(n) * stride +
                               static_cast<size_t>(b) * sizeof(ActivationBlock32);
        const __m512i excess =
            Times<V, Format::kExcess>(V::Spread(block + offsetof(ActivationBlock32, negated_sum)));
        const __m512 factor =
            V::Mul(scale, V::SpreadFloat(block + offsetof(ActivationBlock32, scale)));
        sums[n] = V::Fma(V::ToFloat(V::Add(totals[n][b], excess)), factor, sums[n]);
      }
    }
  }
};

}  // namespace minfer::kernels::avx512_vnni

namespace minfer::kernels {

template <>
struct FewRows<avx512_vnni::MatMulTraits, Tile16s<FormatQ6_K>> : avx512_vnni::FewQ6_K {
  static constexpr int kColumns = 2;
  static constexpr size_t kBlocks = 1;
};
template <>
struct FewRows<avx512_vnni::MatMulTraits, Tile32<FormatQ4_0>>
    : avx512_vnni::Few32<FormatQ4_0, false> {
  static constexpr int kColumns = 2;
  static constexpr size_t kBlocks = 4;
};
template <>
struct FewRows<avx512_vnni::MatMulTraits, Tile32<FormatIQ4_NL>>
    : avx512_vnni::Few32<FormatIQ4_NL, true> {
  static constexpr int kColumns = 2;
  static constexpr size_t kBlocks = 4;
};

}  // namespace minfer::kernels
