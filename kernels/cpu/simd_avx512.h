// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The operations of simd_generic.h on sixteen floats: AVX-512 F, BW, VL. Included by ops_avx512.cc
// alone.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace minfer::kernels::avx512 {

struct Simd {
  using F = __m512;
  struct D {
    __m512d low;
    __m512d high;
  };

  static constexpr int kWidth = 16;
  // 32 registers: 6 x 4 accumulators (a whole page of scores), 4 vectors of K or V; the broadcasts
  // are memory operands.
  static constexpr int kTileRows = 6;
  static constexpr int kTileVecs = 4;
  static constexpr int kTileVecsFewRows = 4;
  static constexpr int kFewRows = 3;

  static F Zero() { return _mm512_setzero_ps(); }
  static F Set(float x) { return _mm512_set1_ps(x); }
  static F Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static __mmask16 FirstLanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
  static F LoadN(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(FirstLanes(n), p); }
  static void StoreN(float* p, F x, int64_t n) { _mm512_mask_storeu_ps(p, FirstLanes(n), x); }
  static F LoadF16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F LoadI8(const int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }
  static float HalfValue(uint16_t half) { return _cvtsh_ss(half); }
  static uint16_t HalfBits(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

  static F Add(F a, F b) { return _mm512_add_ps(a, b); }
  static F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F Div(F a, F b) { return _mm512_div_ps(a, b); }
  static F MulAdd(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F NegMulAdd(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  static F Max(F a, F b) { return _mm512_max_ps(a, b); }
  static F Min(F a, F b) { return _mm512_min_ps(a, b); }
  static F Round(F x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F Pow2(F n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
  static F Abs(F x) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  }
  static F CopySign(F x, F s) {  // magnitude bits of x, sign bit of s: a three-input logic function
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_set1_epi32(0x7fffffff), _mm512_castps_si512(x), _mm512_castps_si512(s), 0xca));
  }
  static F IfLess(F a, F b, F x, F y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  static F Range(F x, F other, int32_t first, int32_t lo, int32_t hi) {
    const __m512i lane =
        _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(first));
    const __mmask16 above = _mm512_cmpge_epi32_mask(lane, _mm512_set1_epi32(lo));
    const __mmask16 inside = _mm512_mask_cmplt_epi32_mask(above, lane, _mm512_set1_epi32(hi));
    return _mm512_mask_blend_ps(inside, other, x);
  }
  // The upper eight lanes, without the DQ instructions.
  static __m256 High(F x) {
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
  }
  static float ReduceAdd(F x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), High(x));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float ReduceMax(F x) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), High(x));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static float First(F x) { return _mm512_cvtss_f32(x); }

  static D ZeroD() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
  static D AddSquares(D acc, F x) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    const __m512d high = _mm512_cvtps_pd(High(x));
    return {_mm512_fmadd_pd(low, low, acc.low), _mm512_fmadd_pd(high, high, acc.high)};
  }
  static D AddDoubles(D acc, F x) {
    return {_mm512_add_pd(acc.low, _mm512_cvtps_pd(_mm512_castps512_ps256(x))),
            _mm512_add_pd(acc.high, _mm512_cvtps_pd(High(x)))};
  }
  static double ReduceAddD(const D& x) {
    const __m512d eight = _mm512_add_pd(x.low, x.high);
    const __m256d four =
        _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }

  static F RotatePairs(F x, F cs) {
    const F swapped = _mm512_permute_ps(x, 0xb1);
    return _mm512_fmaddsub_ps(x, _mm512_moveldup_ps(cs),
                              _mm512_mul_ps(swapped, _mm512_movehdup_ps(cs)));
  }
  static void SplitPairs(F low, F high, F* cos, F* sin) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *cos = _mm512_permutex2var_ps(low, even, high);
    *sin = _mm512_permutex2var_ps(low, _mm512_add_epi32(even, _mm512_set1_epi32(1)), high);
  }
};

}  // namespace minfer::kernels::avx512
