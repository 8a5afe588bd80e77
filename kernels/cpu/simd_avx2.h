// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The operations of simd_generic.h on eight floats: AVX2, FMA, F16C. Included by ops_avx2.cc alone.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace minfer::kernels::avx2 {

struct Simd {
  using F = __m256;
  struct D {
    __m256d low;
    __m256d high;
  };

  static constexpr int kWidth = 8;
  // 16 registers: 6 x 2 accumulators, 2 vectors of K or V, 1 broadcast. With few rows, more vectors
  // keep the two multiply-add pipes (latency 4) busy.
  static constexpr int kTileRows = 6;
  static constexpr int kTileVecs = 2;
  static constexpr int kTileVecsFewRows = 4;
  static constexpr int kFewRows = 3;

  static F Zero() { return _mm256_setzero_ps(); }
  static F Set(float x) { return _mm256_set1_ps(x); }
  static F Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, F x) { _mm256_storeu_ps(p, x); }
  // All ones in the first n lanes.
  static __m256i FirstLanes(int64_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), lane);
  }
  static F LoadN(const float* p, int64_t n) { return _mm256_maskload_ps(p, FirstLanes(n)); }
  static void StoreN(float* p, F x, int64_t n) { _mm256_maskstore_ps(p, FirstLanes(n), x); }
  static F LoadF16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F LoadI8(const int8_t* p) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  static float HalfValue(uint16_t half) { return _cvtsh_ss(half); }
  static uint16_t HalfBits(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

  static F Add(F a, F b) { return _mm256_add_ps(a, b); }
  static F Sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F Mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F Div(F a, F b) { return _mm256_div_ps(a, b); }
  static F MulAdd(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F NegMulAdd(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  static F Max(F a, F b) { return _mm256_max_ps(a, b); }
  static F Min(F a, F b) { return _mm256_min_ps(a, b); }
  static F Round(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F Pow2(F n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static F Abs(F x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
  static F CopySign(F x, F s) {
    const F sign = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(sign, x), _mm256_and_ps(sign, s));
  }
  static F IfLess(F a, F b, F x, F y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static F Range(F x, F other, int32_t first, int32_t lo, int32_t hi) {
    const __m256i lane =
        _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    const __m256i inside = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(lo), lane),
                                               _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), lane));
    return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(inside));
  }
  static float ReduceAdd(F x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float ReduceMax(F x) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static float First(F x) { return _mm256_cvtss_f32(x); }

  static D ZeroD() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
  static D AddSquares(D acc, F x) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
    return {_mm256_fmadd_pd(low, low, acc.low), _mm256_fmadd_pd(high, high, acc.high)};
  }
  static D AddDoubles(D acc, F x) {
    return {_mm256_add_pd(acc.low, _mm256_cvtps_pd(_mm256_castps256_ps128(x))),
            _mm256_add_pd(acc.high, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)))};
  }
  static double ReduceAddD(const D& x) {
    const __m256d four = _mm256_add_pd(x.low, x.high);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }

  static F RotatePairs(F x, F cs) {
    const F swapped = _mm256_permute_ps(x, 0xb1);
    return _mm256_fmaddsub_ps(x, _mm256_moveldup_ps(cs),
                              _mm256_mul_ps(swapped, _mm256_movehdup_ps(cs)));
  }
  static void SplitPairs(F low, F high, F* cos, F* sin) {
    const F first = _mm256_permute2f128_ps(low, high, 0x20);
    const F second = _mm256_permute2f128_ps(low, high, 0x31);
    *cos = _mm256_shuffle_ps(first, second, 0x88);
    *sin = _mm256_shuffle_ps(first, second, 0xdd);
  }
};

}  // namespace minfer::kernels::avx2
