// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Elementwise kernels, norms and rotation: templates on an ISA's Simd. Every element goes through
// the same operations whatever its place, the last partial vector included, so an element's bits
// depend on its inputs alone (and, for the norms, on the row).
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/math_body.h"

namespace minfer::kernels {

// out[i] = fn(vectors of i...) over n elements of the inputs.
template <typename V, typename Fn>
void MapUnary(const float* x, float* out, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) V::Store(out + i, fn(V::Load(x + i)));
  if (i < n) V::StoreN(out + i, fn(V::LoadN(x + i, n - i)), n - i);
}

template <typename V, typename Fn>
void MapBinary(const float* a, const float* b, float* out, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) V::Store(out + i, fn(V::Load(a + i), V::Load(b + i)));
  if (i < n) V::StoreN(out + i, fn(V::LoadN(a + i, n - i), V::LoadN(b + i, n - i)), n - i);
}

template <typename V>
struct VectorOps {
  using F = typename V::F;

  // accumulate(sum, vector, lanes) over the row; lanes from the given number on hold no element.
  template <typename Accumulate>
  static double Sum(const float* x, int64_t n, Accumulate accumulate) {
    // Two accumulators hide half of the addition's latency; lane j takes every element whose index
    // is j modulo the width, always in this order.
    auto even = V::ZeroD();
    auto odd = V::ZeroD();
    int64_t i = 0;
    for (; i + 2 * V::kWidth <= n; i += 2 * V::kWidth) {
      even = accumulate(even, V::Load(x + i), V::kWidth);
      odd = accumulate(odd, V::Load(x + i + V::kWidth), V::kWidth);
    }
    if (i + V::kWidth <= n) {
      even = accumulate(even, V::Load(x + i), V::kWidth);
      i += V::kWidth;
    }
    if (i < n) odd = accumulate(odd, V::LoadN(x + i, n - i), static_cast<int32_t>(n - i));
    return V::ReduceAddD(even) + V::ReduceAddD(odd);
  }

  static double SumOfSquares(const float* x, int64_t n) {
    return Sum(x, n, [](const auto& sum, F v, int32_t) { return V::AddSquares(sum, v); });
  }

  static void RmsNorm(const float* x, const float* weight, float* out, int64_t n, float eps) {
    if (n <= 0) return;
    const double mean = SumOfSquares(x, n) / static_cast<double>(n);
    const F inverse = V::Set(static_cast<float>(1.0 / __builtin_sqrt(mean + eps)));
    if (weight == nullptr) {
      MapUnary<V>(x, out, n, [=](F v) { return V::Mul(v, inverse); });
    } else {
      MapBinary<V>(x, weight, out, n, [=](F v, F w) { return V::Mul(V::Mul(v, inverse), w); });
    }
  }

  static void LayerNorm(const float* x, const float* weight, const float* bias, float* out,
                        int64_t n, float eps) {
    if (n <= 0) return;
    const double sum =
        Sum(x, n, [](const auto& acc, F v, int32_t) { return V::AddDoubles(acc, v); });
    const F mean = V::Set(static_cast<float>(sum / static_cast<double>(n)));
    const double squares = Sum(x, n, [=](const auto& acc, F v, int32_t lanes) {
      return V::AddSquares(acc, V::Range(V::Sub(v, mean), V::Zero(), 0, 0, lanes));
    });
    const double variance = squares / static_cast<double>(n);
    const F inverse = V::Set(static_cast<float>(1.0 / __builtin_sqrt(variance + eps)));
    MapBinary<V>(x, weight, out, n,
                 [=](F v, F w) { return V::Mul(V::Mul(V::Sub(v, mean), inverse), w); });
    if (bias != nullptr) Add(out, bias, out, n);
  }

  static void Add(const float* a, const float* b, float* out, int64_t n) {
    MapBinary<V>(a, b, out, n, [](F x, F y) { return V::Add(x, y); });
  }
  static void Mul(const float* a, const float* b, float* out, int64_t n) {
    MapBinary<V>(a, b, out, n, [](F x, F y) { return V::Mul(x, y); });
  }
  static void Scale(const float* x, float factor, float* out, int64_t n) {
    const F f = V::Set(factor);
    MapUnary<V>(x, out, n, [=](F v) { return V::Mul(v, f); });
  }
  static void SiluRow(const float* x, float* out, int64_t n) {
    MapUnary<V>(x, out, n, [](F v) { return Silu<V>(v); });
  }
  static void GeluTanhRow(const float* x, float* out, int64_t n) {
    MapUnary<V>(x, out, n, [](F v) { return GeluTanh<V>(v); });
  }
  static void SiluMul(const float* gate, const float* up, float* out, int64_t n) {
    MapBinary<V>(gate, up, out, n, [](F g, F u) { return V::Mul(Silu<V>(g), u); });
  }
  static void GeluTanhMul(const float* gate, const float* up, float* out, int64_t n) {
    MapBinary<V>(gate, up, out, n, [](F g, F u) { return V::Mul(GeluTanh<V>(g), u); });
  }
  static void ClampedSwigluRow(const float* gate, const float* up, float* out, int64_t n,
                               float alpha, float limit) {
    MapBinary<V>(gate, up, out, n,
                 [=](F g, F u) { return ClampedSwiglu<V>(g, u, V::Set(alpha), V::Set(limit)); });
  }
  static void ScaleAdd(const float* x, float factor, const float* a, float* out, int64_t n) {
    const F f = V::Set(factor);
    MapBinary<V>(x, a, out, n, [=](F v, F w) { return V::MulAdd(v, f, w); });
  }
  static void Softcap(const float* x, float cap, float* out, int64_t n) {
    const F c = V::Set(cap);
    MapUnary<V>(x, out, n, [=](F v) { return V::Mul(c, Tanh<V>(V::Div(v, c))); });
  }

  static void RopePairs(const float* x, float* out, const float* cos_sin, int32_t rope_dim) {
    int32_t i = 0;
    for (; i + V::kWidth <= rope_dim; i += V::kWidth) {
      V::Store(out + i, V::RotatePairs(V::Load(x + i), V::Load(cos_sin + i)));
    }
    if (i < rope_dim) {
      const int32_t n = rope_dim - i;
      V::StoreN(out + i, V::RotatePairs(V::LoadN(x + i, n), V::LoadN(cos_sin + i, n)), n);
    }
  }

  static void RopeHalves(const float* x, float* out, const float* cos_sin, int32_t rope_dim) {
    const int32_t half = rope_dim / 2;
    for (int32_t i = 0; i < half; i += V::kWidth) {
      const int32_t n = half - i < V::kWidth ? half - i : V::kWidth;
      const int32_t pairs_low = 2 * n < V::kWidth ? 2 * n : V::kWidth;
      F cos;
      F sin;
      V::SplitPairs(V::LoadN(cos_sin + 2 * i, pairs_low),
                    V::LoadN(cos_sin + 2 * i + pairs_low, 2 * n - pairs_low), &cos, &sin);
      const F a = V::LoadN(x + i, n);
      const F b = V::LoadN(x + half + i, n);
      V::StoreN(out + i, V::NegMulAdd(b, sin, V::Mul(a, cos)), n);
      V::StoreN(out + half + i, V::MulAdd(a, sin, V::Mul(b, cos)), n);
    }
  }

  static void Rope(const float* x, float* out, const float* cos_sin, int32_t n_heads,
                   int32_t head_dim, int32_t rope_dim, bool neox) {
    for (int32_t h = 0; h < n_heads; ++h) {
      const float* from = x + int64_t{h} * head_dim;
      float* to = out + int64_t{h} * head_dim;
      if (neox) {
        RopeHalves(from, to, cos_sin, rope_dim);
      } else {
        RopePairs(from, to, cos_sin, rope_dim);
      }
      if (from != to) {
        for (int32_t i = rope_dim; i < head_dim; ++i) to[i] = from[i];
      }
    }
  }

  static constexpr VectorKernels kTable = {
      RmsNorm,     LayerNorm,        Add,      Mul,     Scale, SiluRow, GeluTanhRow, SiluMul,
      GeluTanhMul, ClampedSwigluRow, ScaleAdd, Softcap, Rope};
};

}  // namespace minfer::kernels
