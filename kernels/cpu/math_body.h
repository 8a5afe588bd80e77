// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Elementary functions on vectors of floats, templates on an ISA's Simd. kernels/reference/
// vector_reference.cc holds the scalar twins, which are the same polynomials.
//
// The coefficients are minimax fits made for this file with the Remez exchange algorithm, the
// relative error minimised, then rounded to f32:
//   exp(r)  = 1 + r + r^2 P(r) on |r| <= ln 2 / 2     error 3.1e-9 before rounding
//   tanh(x) = x + x^3 Q(x^2)   on |x| <= 0.6255       error 1.6e-10 before rounding
#pragma once

#include "kernels/cpu/math_constants.h"

namespace minfer::kernels {

// e^x for every x, within 1 ulp of the true value where that is a normal number: x = n ln 2 + r,
// and 2^n is multiplied in two halves so that neither over- nor underflows early. NaN stays NaN.
template <typename V>
typename V::F Exp(typename V::F x) {
  using F = typename V::F;
  // Beyond these the result is 0 or infinity anyway.
  x = V::Min(V::Set(kExpHighest), V::Max(V::Set(kExpLowest), x));
  const F n = V::Round(V::Mul(x, V::Set(kLog2E)));
  F r = V::NegMulAdd(n, V::Set(kLn2High), x);
  r = V::NegMulAdd(n, V::Set(kLn2Low), r);
  F p = V::Set(kExpPoly[4]);
  p = V::MulAdd(p, r, V::Set(kExpPoly[3]));
  p = V::MulAdd(p, r, V::Set(kExpPoly[2]));
  p = V::MulAdd(p, r, V::Set(kExpPoly[1]));
  p = V::MulAdd(p, r, V::Set(kExpPoly[0]));
  p = V::MulAdd(p, V::Mul(r, r), r);
  p = V::Add(p, V::Set(1.0f));
  const F half = V::Round(V::Mul(n, V::Set(0.5f)));
  return V::Mul(V::Mul(p, V::Pow2(half)), V::Pow2(V::Sub(n, half)));
}

// tanh x: the polynomial where it cancels nothing, else 1 - 2 / (e^2|x| + 1).
template <typename V>
typename V::F Tanh(typename V::F x) {
  using F = typename V::F;
  const F magnitude = V::Abs(x);
  const F square = V::Mul(x, x);
  F q = V::Set(kTanhPoly[5]);
  q = V::MulAdd(q, square, V::Set(kTanhPoly[4]));
  q = V::MulAdd(q, square, V::Set(kTanhPoly[3]));
  q = V::MulAdd(q, square, V::Set(kTanhPoly[2]));
  q = V::MulAdd(q, square, V::Set(kTanhPoly[1]));
  q = V::MulAdd(q, square, V::Set(kTanhPoly[0]));
  const F small = V::MulAdd(V::Mul(q, square), x, x);
  const F power = Exp<V>(V::Add(magnitude, magnitude));
  const F large = V::Sub(V::Set(1.0f), V::Div(V::Set(2.0f), V::Add(power, V::Set(1.0f))));
  return V::IfLess(magnitude, V::Set(kTanhSmall), small, V::CopySign(large, x));
}

// 1 / (1 + e^-x), times x.
template <typename V>
typename V::F Silu(typename V::F x) {
  const typename V::F power = Exp<V>(V::Sub(V::Zero(), x));
  return V::Div(x, V::Add(V::Set(1.0f), power));
}

// The gated activation of gpt-oss (OpenAI 2025): g / (1 + e^(-alpha g)) (u + 1) with g at most the
// limit and u within it on both sides.
template <typename V>
typename V::F ClampedSwiglu(typename V::F gate, typename V::F up, typename V::F alpha,
                            typename V::F limit) {
  using F = typename V::F;
  const F one = V::Set(1.0f);
  // The value comes second: a NaN stays one.
  const F g = V::Min(limit, gate);
  const F u = V::Max(V::Sub(V::Zero(), limit), V::Min(limit, up));
  const F power = Exp<V>(V::Sub(V::Zero(), V::Mul(alpha, g)));
  return V::Mul(V::Div(g, V::Add(one, power)), V::Add(u, one));
}

// The tanh form of GELU, x/2 (1 + tanh u) with u = sqrt(2/pi) (x + 0.044715 x^3), written as
// x / (1 + e^-2u), which is the same and cancels nothing for negative x.
template <typename V>
typename V::F GeluTanh(typename V::F x) {
  using F = typename V::F;
  const F cube = V::Mul(V::Mul(x, x), x);
  const F inner = V::MulAdd(V::Set(kGeluCubic), cube, x);
  const F power = Exp<V>(V::Mul(V::Set(-2.0f * kGeluScale), inner));
  return V::Div(x, V::Add(V::Set(1.0f), power));
}

}  // namespace minfer::kernels
