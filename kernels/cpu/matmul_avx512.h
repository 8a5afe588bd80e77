// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// AVX-512 (F, BW, VL) traits of the matrix products; matmul_generic.h says what each operation
// means. Three units use them, each with a Unit type of its own so that nothing is shared between
// code that is compiled with different flags.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/flush_denormals.h"

namespace minfer::kernels {

template <class Unit>
struct MatMulAvx512 {
  // Sixteen lanes; with 32 registers, eight sums and eight dots beside eight codes.
  static constexpr int kRows = 16;
  static constexpr int kColumns = 8;
  static constexpr int kDotColumns = 8;
  static constexpr int kFloatRows = 4;
  static constexpr int kFloatColumns = 4;
  static constexpr bool kFloatHalves = false;

  using I32 = __m512i;
  using F32 = __m512;

  static __m128i Load16Bytes(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  // Rows first, first + 4, first + 8 and first + 12, one a quarter. Masked broadcasts load and
  // blend, where inserts would keep the shuffle units busy.
  [[gnu::always_inline]] static __m512i LoadFour(const uint8_t* const* rows, size_t offset,
                                                 int first) {
    __m512i four = _mm512_castsi128_si512(Load16Bytes(rows[first] + offset));
    four = _mm512_mask_broadcast_i32x4(four, 0x00f0, Load16Bytes(rows[first + 4] + offset));
    four = _mm512_mask_broadcast_i32x4(four, 0x0f00, Load16Bytes(rows[first + 8] + offset));
    return _mm512_mask_broadcast_i32x4(four, 0xf000, Load16Bytes(rows[first + 12] + offset));
  }
  [[gnu::always_inline]] static void LoadTransposed(const uint8_t* const* rows, size_t offset,
                                                    I32* out) {
    const __m512i r0 = LoadFour(rows, offset, 0);
    const __m512i r1 = LoadFour(rows, offset, 1);
    const __m512i r2 = LoadFour(rows, offset, 2);
    const __m512i r3 = LoadFour(rows, offset, 3);
    const __m512i low01 = _mm512_unpacklo_epi32(r0, r1);
    const __m512i low23 = _mm512_unpacklo_epi32(r2, r3);
    const __m512i high01 = _mm512_unpackhi_epi32(r0, r1);
    const __m512i high23 = _mm512_unpackhi_epi32(r2, r3);
    out[0] = _mm512_unpacklo_epi64(low01, low23);
    out[1] = _mm512_unpackhi_epi64(low01, low23);
    out[2] = _mm512_unpacklo_epi64(high01, high23);
    out[3] = _mm512_unpackhi_epi64(high01, high23);
  }

  // Into the second-level cache: two tiles of sixteen rows can be more than the first one holds.
  // In assembler because gcc 12 takes a pointer that is only prefetched for an unused one.
  static void Prefetch(const uint8_t* p) { asm volatile("prefetcht1 %0" : : "m"(*p)); }
  static I32 Zero() { return _mm512_setzero_si512(); }
  static I32 And(I32 a, uint32_t bits) {
    return _mm512_and_si512(a, _mm512_set1_epi32(static_cast<int32_t>(bits)));
  }
  static I32 Xor(I32 a, uint32_t bits) {
    return _mm512_xor_si512(a, _mm512_set1_epi32(static_cast<int32_t>(bits)));
  }
  static I32 Or(I32 a, I32 b) { return _mm512_or_si512(a, b); }
  static I32 Add(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
  static I32 Sub(I32 a, I32 b) { return _mm512_sub_epi32(a, b); }
  static I32 MulInt(I32 a, I32 b) { return _mm512_mullo_epi32(a, b); }
  template <int Count>
  static I32 ShiftLeft(I32 a) {
    return _mm512_slli_epi32(a, Count);
  }
  template <int Count>
  static I32 ShiftRight(I32 a) {
    return _mm512_srli_epi32(a, Count);
  }
  template <int Count>
  static I32 ShiftRightSigned(I32 a) {
    return _mm512_srai_epi32(a, Count);
  }
  static I32 Spread(const uint8_t* p) {
    int32_t value;
    std::memcpy(&value, p, sizeof(value));
    return _mm512_set1_epi32(value);
  }
  static I32 LookUp(const uint8_t* table, I32 a) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(Load16Bytes(table)), a);
  }
  [[gnu::always_inline]] static I32 AddFifthBits(I32 codes, I32 bits, int j) {
    const __m512i byte = _mm512_add_epi32(  // the one with the bits, of each lane
        _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0),
        _mm512_set1_epi32(0x01010101 * (j / 2)));
    const __m512i wanted =
        _mm512_set1_epi32(static_cast<int32_t>(j % 2 == 0 ? 0x08040201u : 0x80402010u));
    const __mmask64 found = _mm512_test_epi8_mask(_mm512_shuffle_epi8(bits, byte), wanted);
    return _mm512_mask_add_epi8(codes, found, codes, _mm512_set1_epi8(16));
  }

  static constexpr bool kExactDot = false;
  static constexpr bool kSignedBytes = true;
  static I32 AbsBytes(I32 a) { return _mm512_abs_epi8(a); }
  // a or -a, as the bytes of `signs` are; anything where they are zero.
  static I32 CopySigns(I32 a, I32 signs) {
    return _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(signs), Zero(), a);
  }
  // sum + the products of magnitudes up to 128 with signed bytes up to 127: two fit 16 bits.
  static I32 SignedDot(I32 sum, I32 magnitudes, I32 quants) {
    return DotEnd(_mm512_maddubs_epi16(magnitudes, quants), sum);
  }
  // gcc 12 puts off the additions of a sum until it is used and spills the products meanwhile.
  static __m512i Now(__m512i sum) {
    asm("" : "+v"(sum));
    return sum;
  }
  using Dot = __m512i;  // thirty-two 16-bit sums
  static Dot DotBegin(I32 /*correction*/) { return _mm512_setzero_si512(); }
  static Dot DotStep(Dot sum, I32 codes, I32 quants) {
    return Now(_mm512_add_epi16(sum, _mm512_maddubs_epi16(codes, quants)));
  }
  static I32 DotEnd(Dot sum, I32 correction) {
    return _mm512_add_epi32(_mm512_madd_epi16(sum, _mm512_set1_epi16(1)), correction);
  }
  static I32 DotScale(I32 scale) {
    return _mm512_or_si512(And(scale, 0xffffu), _mm512_slli_epi32(scale, 16));
  }
  static I32 DotEndScaled(I32 total, Dot sum, I32 scale) { return PairDot(total, sum, scale); }
  static I32 PairDot(I32 sum, I32 a, I32 b) {
    return Now(_mm512_add_epi32(sum, _mm512_madd_epi16(a, b)));
  }

  static F32 ZeroF32() { return _mm512_setzero_ps(); }
  static F32 ToFloat(I32 a) { return _mm512_cvtepi32_ps(a); }
  static F32 AsFloat(I32 bits) { return _mm512_castsi512_ps(bits); }
  static F32 HalfToFloat(I32 halves) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(halves)); }
  static F32 SpreadFloat(const uint8_t* p) { return _mm512_castsi512_ps(Spread(p)); }
  static F32 Mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
  static F32 Fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
  static F32 FmaNegated(F32 a, F32 b, F32 c) { return _mm512_fnmadd_ps(a, b, c); }
  static void Store(float* out, F32 a, int count) {
    _mm512_mask_storeu_ps(out, static_cast<__mmask16>((1u << count) - 1u), a);
  }

  using Floats = __m512;
  static Floats ZeroFloats() { return _mm512_setzero_ps(); }
  static Floats LoadFloats(const uint8_t* p) { return _mm512_loadu_ps(p); }
  static Floats LoadHalves(const uint8_t* p) { return _mm512_cvtph_ps(Load32Bytes(p)); }
  static __m256i Load32Bytes(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Floats FmaFloats(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static float Sum(Floats a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), UpperHalf(a));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static __m256 UpperHalf(__m512 a) {
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
  }

  static constexpr bool kPairProducts = false;
  static constexpr int kPairRows = 4;
  static constexpr int kPairColumns = 4;
  static constexpr size_t kPairBytes = 64;
  using PairSums = __m512;
  using FlushDenormals = kernels::FlushDenormals;
  static PairSums ZeroPairSums() { return _mm512_setzero_ps(); }
  static PairSums OddOfPairs(const uint8_t* p) {
    return _mm512_castsi512_ps(And(_mm512_loadu_si512(p), 0xffff0000u));
  }
  static PairSums EvenOfPairs(const uint8_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
  }
  static PairSums FmaPairs(PairSums a, PairSums b, PairSums c) { return _mm512_fmadd_ps(a, b, c); }
  static float SumPairs(const PairSums* parts) { return Sum(parts[0]); }

  using Ints = __m512i;
  static Ints MagnitudeBits(Floats a) { return And(_mm512_castps_si512(a), 0x7fffffffu); }
  static Ints MaxInts(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
  static int32_t LargestInt(Ints a) { return _mm512_reduce_max_epi32(a); }
  static Ints RoundScaled(Floats a, float factor) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(a, _mm512_set1_ps(factor)));
  }
  static void StoreBytes(uint8_t* out, Ints a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(a));
  }
  static int32_t SumInts(Ints a) { return _mm512_reduce_add_epi32(a); }
};

}  // namespace minfer::kernels
