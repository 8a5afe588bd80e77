// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The vector operations that attention_body.h and vector_body.h are written in, for any processor:
// four floats in the compiler's own vector type. simd_avx2.h and simd_avx512.h have the same
// members. Included by ops_generic.cc alone.
//
// Contract of the names: MulAdd(a, b, c) is a * b + c, fused where the processor can (not here);
// Max and Min return b when one operand is NaN; Round is to nearest even; Pow2(n) is 2^n for an
// integral n in [-126, 127]; Range(x, other, first, lo, hi) keeps lane i of x where
// lo <= first + i < hi.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/quant/half.h"

namespace minfer::kernels::generic {

struct Simd {
  typedef float F __attribute__((vector_size(16)));
  typedef int32_t I __attribute__((vector_size(16)));
  struct D {
    double lane[4];
  };

  static constexpr int kWidth = 4;
  // Shape of an accumulator tile (rows x vectors): 16 vector registers.
  static constexpr int kTileRows = 4;
  static constexpr int kTileVecs = 2;
  static constexpr int kTileVecsFewRows = 2;  // for at most kFewRows rows
  static constexpr int kFewRows = 2;

  static F Zero() { return F{}; }
  static F Set(float x) { return F{x, x, x, x}; }
  static F Load(const float* p) {
    F x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  static void Store(float* p, F x) { std::memcpy(p, &x, sizeof(x)); }
  static F LoadN(const float* p, int64_t n) {
    F x = {};
    std::memcpy(&x, p, static_cast<size_t>(n) * sizeof(float));
    return x;
  }
  static void StoreN(float* p, F x, int64_t n) {
    std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(float));
  }
  static F LoadF16(const uint16_t* p) {
    return F{HalfToFloat(p[0]), HalfToFloat(p[1]), HalfToFloat(p[2]), HalfToFloat(p[3])};
  }
  static F LoadI8(const int8_t* p) {
    return F{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
             static_cast<float>(p[3])};
  }
  static float HalfValue(uint16_t half) { return HalfToFloat(half); }
  static uint16_t HalfBits(float x) { return FloatToHalf(x); }

  static F Add(F a, F b) { return a + b; }
  static F Sub(F a, F b) { return a - b; }
  static F Mul(F a, F b) { return a * b; }
  static F Div(F a, F b) { return a / b; }
  static F MulAdd(F a, F b, F c) { return a * b + c; }
  static F NegMulAdd(F a, F b, F c) { return c - a * b; }
  static F Max(F a, F b) { return a > b ? a : b; }
  static F Min(F a, F b) { return a < b ? a : b; }
  static F Round(F x) {  // |x| < 2^22; adding 1.5 * 2^23 leaves no fraction bits
    const F magic = Set(12582912.0f);
    return (x + magic) - magic;
  }
  static F Pow2(F n) {
    const I bits = (__builtin_convertvector(n, I) + 127) << 23;
    return reinterpret_cast<F>(bits);
  }
  static F Abs(F x) { return reinterpret_cast<F>(reinterpret_cast<I>(x) & 0x7fffffff); }
  // The magnitude of x with the sign of s.
  static F CopySign(F x, F s) {
    const I sign = reinterpret_cast<I>(s) & static_cast<int32_t>(0x80000000u);
    return reinterpret_cast<F>((reinterpret_cast<I>(x) & 0x7fffffff) | sign);
  }
  // a < b ? x : y, y where a or b is NaN.
  static F IfLess(F a, F b, F x, F y) { return a < b ? x : y; }
  static F Range(F x, F other, int32_t first, int32_t lo, int32_t hi) {
    const I lane = I{first, first + 1, first + 2, first + 3};
    return ((lane >= lo) & (lane < hi)) ? x : other;
  }
  static float ReduceAdd(F x) { return (x[0] + x[2]) + (x[1] + x[3]); }
  static float ReduceMax(F x) {
    const float a = x[0] > x[2] ? x[0] : x[2];
    const float b = x[1] > x[3] ? x[1] : x[3];
    return a > b ? a : b;
  }
  static float First(F x) { return x[0]; }

  // acc + x * x and acc + x in double.
  static D ZeroD() { return D{}; }
  static D AddSquares(D acc, F x) {
    for (int i = 0; i < kWidth; ++i) acc.lane[i] += static_cast<double>(x[i]) * x[i];
    return acc;
  }
  static D AddDoubles(D acc, F x) {
    for (int i = 0; i < kWidth; ++i) acc.lane[i] += static_cast<double>(x[i]);
    return acc;
  }
  static double ReduceAddD(const D& x) { return (x.lane[0] + x.lane[2]) + (x.lane[1] + x.lane[3]); }

  // Pairs (2i, 2i+1) of x rotated by the interleaved (cos, sin) of cs.
  static F RotatePairs(F x, F cs) {
    return F{x[0] * cs[0] - x[1] * cs[1], x[1] * cs[0] + x[0] * cs[1], x[2] * cs[2] - x[3] * cs[3],
             x[3] * cs[2] + x[2] * cs[3]};
  }
  // kWidth cosines and sines out of 2 * kWidth interleaved values.
  static void SplitPairs(F low, F high, F* cos, F* sin) {
    *cos = F{low[0], low[2], high[0], high[2]};
    *sin = F{low[1], low[3], high[1], high[3]};
  }
};

}  // namespace minfer::kernels::generic
