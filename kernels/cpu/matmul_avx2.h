// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// AVX2, FMA and F16C traits of the matrix products; matmul_generic.h says what each operation
// means.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/flush_denormals.h"

namespace minfer::kernels::avx2 {

struct MatMulTraits {
  // Eight lanes; with 16 registers, four 16-bit sums beside the codes. Codes unpacked once serve
  // twice as many activation rows.
  static constexpr int kRows = 8;
  static constexpr int kColumns = 8;
  static constexpr int kDotColumns = 4;
  // 4 x 3 sums of half vectors, three halves of activations and one of weights: all 16 registers,
  // and seven loads for twelve multiply-adds.
  static constexpr int kFloatRows = 4;
  static constexpr int kFloatColumns = 3;
  static constexpr bool kFloatHalves = true;

  using I32 = __m256i;
  using F32 = __m256;

  static __m128i Load16Bytes(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  // Rows `low` and `low + 4`, one a half.
  [[gnu::always_inline]] static __m256i LoadPair(const uint8_t* const* rows, size_t offset,
                                                 int low) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(Load16Bytes(rows[low] + offset)),
                                   Load16Bytes(rows[low + 4] + offset), 1);
  }
  [[gnu::always_inline]] static void LoadTransposed(const uint8_t* const* rows, size_t offset,
                                                    I32* out) {
    const __m256i r0 = LoadPair(rows, offset, 0);
    const __m256i r1 = LoadPair(rows, offset, 1);
    const __m256i r2 = LoadPair(rows, offset, 2);
    const __m256i r3 = LoadPair(rows, offset, 3);
    const __m256i low01 = _mm256_unpacklo_epi32(r0, r1);
    const __m256i low23 = _mm256_unpacklo_epi32(r2, r3);
    const __m256i high01 = _mm256_unpackhi_epi32(r0, r1);
    const __m256i high23 = _mm256_unpackhi_epi32(r2, r3);
    out[0] = _mm256_unpacklo_epi64(low01, low23);
    out[1] = _mm256_unpackhi_epi64(low01, low23);
    out[2] = _mm256_unpacklo_epi64(high01, high23);
    out[3] = _mm256_unpackhi_epi64(high01, high23);
  }

  // Into the second-level cache: two tiles of long rows are more than the first one holds.
  // In assembler because gcc 12 takes a pointer that is only prefetched for an unused one.
  static void Prefetch(const uint8_t* p) { asm volatile("prefetcht1 %0" : : "m"(*p)); }
  static I32 Zero() { return _mm256_setzero_si256(); }
  static I32 And(I32 a, uint32_t bits) {
    return _mm256_and_si256(a, _mm256_set1_epi32(static_cast<int32_t>(bits)));
  }
  static I32 Xor(I32 a, uint32_t bits) {
    return _mm256_xor_si256(a, _mm256_set1_epi32(static_cast<int32_t>(bits)));
  }
  static I32 Or(I32 a, I32 b) { return _mm256_or_si256(a, b); }
  static I32 Add(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
  static I32 Sub(I32 a, I32 b) { return _mm256_sub_epi32(a, b); }
  static I32 MulInt(I32 a, I32 b) { return _mm256_mullo_epi32(a, b); }
  template <int Count>
  static I32 ShiftLeft(I32 a) {
    return _mm256_slli_epi32(a, Count);
  }
  template <int Count>
  static I32 ShiftRight(I32 a) {
    return _mm256_srli_epi32(a, Count);
  }
  template <int Count>
  static I32 ShiftRightSigned(I32 a) {
    return _mm256_srai_epi32(a, Count);
  }
  static I32 Spread(const uint8_t* p) {
    int32_t value;
    std::memcpy(&value, p, sizeof(value));
    return _mm256_set1_epi32(value);
  }
  static I32 LookUp(const uint8_t* table, I32 a) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(Load16Bytes(table)), a);
  }
  [[gnu::always_inline]] static I32 AddFifthBits(I32 codes, I32 bits, int j) {
    const __m256i byte = _mm256_add_epi32(  // the one with the bits, of each lane
        _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808,
                          0x0c0c0c0c),
        _mm256_set1_epi32(0x01010101 * (j / 2)));
    const __m256i wanted =
        _mm256_set1_epi32(static_cast<int32_t>(j % 2 == 0 ? 0x08040201u : 0x80402010u));
    const __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(bits, byte), wanted);
    return _mm256_or_si256(codes, And(_mm256_cmpeq_epi8(found, wanted), 0x10101010u));
  }

  static constexpr bool kExactDot = false;
  static constexpr bool kSignedBytes = true;
  static I32 AbsBytes(I32 a) { return _mm256_abs_epi8(a); }
  // a or -a, as the bytes of `signs` are; anything where they are zero.
  static I32 CopySigns(I32 a, I32 signs) { return _mm256_sign_epi8(a, signs); }
  // sum + the products of magnitudes up to 128 with signed bytes up to 127: two fit 16 bits.
  static I32 SignedDot(I32 sum, I32 magnitudes, I32 quants) {
    return DotEnd(_mm256_maddubs_epi16(magnitudes, quants), sum);
  }
  // gcc 12 puts off the additions of a sum until it is used and spills all the products meanwhile:
  // a third of a prompt's time.
  static __m256i Now(__m256i sum) {
    asm("" : "+x"(sum));
    return sum;
  }
  using Dot = __m256i;  // sixteen 16-bit sums
  static Dot DotBegin(I32 /*correction*/) { return _mm256_setzero_si256(); }
  static Dot DotStep(Dot sum, I32 codes, I32 quants) {
    return Now(_mm256_add_epi16(sum, _mm256_maddubs_epi16(codes, quants)));
  }
  static I32 DotEnd(Dot sum, I32 correction) {
    return Now(_mm256_add_epi32(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)), correction));
  }
  static I32 DotScale(I32 scale) {
    return _mm256_or_si256(And(scale, 0xffffu), _mm256_slli_epi32(scale, 16));
  }
  static I32 DotEndScaled(I32 total, Dot sum, I32 scale) { return PairDot(total, sum, scale); }
  static I32 PairDot(I32 sum, I32 a, I32 b) {
    return Now(_mm256_add_epi32(sum, _mm256_madd_epi16(a, b)));
  }

  static F32 ZeroF32() { return _mm256_setzero_ps(); }
  static F32 ToFloat(I32 a) { return _mm256_cvtepi32_ps(a); }
  static F32 AsFloat(I32 bits) { return _mm256_castsi256_ps(bits); }
  static F32 HalfToFloat(I32 halves) {
    const __m128i low = _mm256_castsi256_si128(halves);
    const __m128i high = _mm256_extracti128_si256(halves, 1);
    return _mm256_cvtph_ps(_mm_packus_epi32(low, high));
  }
  static F32 SpreadFloat(const uint8_t* p) { return _mm256_castsi256_ps(Spread(p)); }
  static F32 Mul(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
  static F32 Fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
  static F32 FmaNegated(F32 a, F32 b, F32 c) { return _mm256_fnmadd_ps(a, b, c); }
  static void Store(float* out, F32 a, int count) {
    if (count == kRows) {
      _mm256_storeu_ps(out, a);
      return;
    }
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(out, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), index), a);
  }

  struct Floats {
    __m256 low;
    __m256 high;
  };
  static Floats ZeroFloats() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Floats LoadFloats(const uint8_t* p) {
    const auto* values = reinterpret_cast<const float*>(p);
    return {_mm256_loadu_ps(values), _mm256_loadu_ps(values + 8)};
  }
  static Floats LoadHalves(const uint8_t* p) {
    return {_mm256_cvtph_ps(Load16Bytes(p)), _mm256_cvtph_ps(Load16Bytes(p + 16))};
  }
  using Half = __m256;
  static Half LoadHalfFloats(const uint8_t* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
  static Half LoadHalfHalves(const uint8_t* p) { return _mm256_cvtph_ps(Load16Bytes(p)); }
  static Half FmaHalf(Half a, Half b, Half c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats Join(Half low, Half high) { return {low, high}; }
  static Floats FmaFloats(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static float Sum(Floats a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  // 4 x 2 sums, two vectors of activations, one of weights, the mask, and what is loaded: with
  // three columns gcc 12 spills four sums.
  static constexpr bool kPairProducts = false;
  static constexpr int kPairRows = 4;
  static constexpr int kPairColumns = 2;
  static constexpr size_t kPairBytes = 32;
  using PairSums = __m256;
  using FlushDenormals = kernels::FlushDenormals;
  static __m256i Load32Bytes(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static PairSums ZeroPairSums() { return _mm256_setzero_ps(); }
  static PairSums OddOfPairs(const uint8_t* p) {
    return _mm256_castsi256_ps(And(Load32Bytes(p), 0xffff0000u));
  }
  static PairSums EvenOfPairs(const uint8_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(Load32Bytes(p), 16));
  }
  static PairSums FmaPairs(PairSums a, PairSums b, PairSums c) { return _mm256_fmadd_ps(a, b, c); }
  static float SumPairs(const PairSums* parts) { return Sum({parts[0], parts[1]}); }

  struct Ints {
    __m256i low;
    __m256i high;
  };
  static Ints MagnitudeBits(Floats a) {
    return {And(_mm256_castps_si256(a.low), 0x7fffffffu),
            And(_mm256_castps_si256(a.high), 0x7fffffffu)};
  }
  static Ints MaxInts(Ints a, Ints b) {
    return {_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)};
  }
  static int32_t LargestInt(Ints a) {
    const __m256i eight = _mm256_max_epi32(a.low, a.high);
    const __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  }
  static Ints RoundScaled(Floats a, float factor) {
    const __m256 factors = _mm256_set1_ps(factor);
    return {_mm256_cvtps_epi32(_mm256_mul_ps(a.low, factors)),
            _mm256_cvtps_epi32(_mm256_mul_ps(a.high, factors))};
  }
  static void StoreBytes(uint8_t* out, Ints a) {
    const __m256i words =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);  // back in order
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  }
  static int32_t SumInts(Ints a) {
    const __m256i eight = _mm256_add_epi32(a.low, a.high);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  }
};

}  // namespace minfer::kernels::avx2
