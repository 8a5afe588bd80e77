// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Scales for the encoders. A scale is searched for: several are tried around the one that just
// takes in the extreme value, for each the values get their nearest codes, for these codes least
// squares give the best scale, and the one with the smallest squared error stays.
//
// Sums run in eight lanes, so that compilers make vector code of them and the result is the same on
// every processor. Rounding is to nearest even, which callers see to.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/quant/half.h"

namespace minfer::kernels {

// Below it a block is taken for zeros: no half holds such a scale.
inline constexpr float kSmallestExtreme = 1e-20f;

// 0 where there is no inverse.
inline float Inverse(float scale) {
  const float inverse = 1.0f / scale;
  return std::fabs(inverse) <= std::numeric_limits<float>::max() ? inverse : 0.0f;
}

// The whole number nearest to value, in [low, high]: low for a NaN. At most 2^22 either way.
inline float NearestCode(float value, float low, float high) {
  value = value > low ? value : low;
  value = value < high ? value : high;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: what is added to it loses its fraction
  return (value + kShift) - kShift;
}

inline int NearestCode(float value, int low, int high) {
  return static_cast<int>(NearestCode(value, static_cast<float>(low), static_cast<float>(high)));
}

// Too large a scale becomes the largest half, never infinity.
inline uint16_t ScaleToHalf(float scale) {
  constexpr float kLargest = 65504.0f;
  return FloatToHalf(std::clamp(scale, -kLargest, kLargest));
}

template <int N, typename Value>
float Sum(Value value) {
  float lanes[8] = {};
  for (int i = 0; i < N; i += 8) {
    for (int k = 0; k < 8; ++k) lanes[k] += value(i + k);
  }
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// The value of the largest magnitude, with its sign.
template <int N>
float Extreme(const float* x) {
  float extreme = 0.0f;
  for (int i = 0; i < N; ++i) extreme = std::fabs(x[i]) > std::fabs(extreme) ? x[i] : extreme;
  return extreme;
}

// Scale s of x[i] ~ s * value, where code(v, i) gives the value nearest to v among those that can
// be stored and `first` is the one that the extreme of x stands for. Tries 2 * n_steps + 1 scales,
// at which the extreme lies k * step beyond `first`.
template <int N, typename Nearest>
float SearchScale(const float* x, float first, float step, int n_steps, Nearest nearest) {
  const float extreme = Extreme<N>(x);
  if (!(std::fabs(extreme) >= kSmallestExtreme)) return 0.0f;
  // In units of the extreme, so that no square overflows.
  const float unit = 1.0f / extreme;
  float y[N];
  float values[N];
  for (int i = 0; i < N; ++i) y[i] = x[i] * unit;
  float best_gain = 0.0f;  // by how much the squared error is below that of zeros
  float best = 1.0f / first;
  for (int k = -n_steps; k <= n_steps; ++k) {
    const float inverse = first + step * static_cast<float>(k);
    for (int i = 0; i < N; ++i) values[i] = nearest(y[i] * inverse);
    const float square = Sum<N>([&](int i) { return values[i] * values[i]; });
    if (square == 0.0f) continue;
    const float product = Sum<N>([&](int i) { return values[i] * y[i]; });
    const float gain = product * product / square;
    if (gain > best_gain) {
      best_gain = gain;
      best = product / square;
    }
  }
  return extreme * best;
}

// The same for the whole numbers from -half to half - 1.
template <int N>
float SearchScale(const float* x, int half) {
  const float low = static_cast<float>(-half);
  const float high = static_cast<float>(half - 1);
  return SearchScale<N>(x, low, 0.125f, 8,
                        [=](float value) { return NearestCode(value, low, high); });
}

// x ~ scale * code + min.
struct Affine {
  float scale;
  float min;
};

// Fits codes from 0 to `high`. below_zero: `min` must not be positive.
template <int N>
Affine SearchAffine(const float* x, int high, bool below_zero) {
  const auto [low, top] = std::minmax_element(x, x + N);
  const float min = below_zero ? std::min(*low, 0.0f) : *low;
  const float range = *top - min;
  if (!(range >= kSmallestExtreme)) return {0.0f, min};
  constexpr int kSteps = 20;
  constexpr float kStep = 0.1f;
  const auto last = static_cast<float>(high);
  const float sum = Sum<N>([&](int i) { return x[i]; });
  Affine best = {range / last, min};
  float best_error = std::numeric_limits<float>::infinity();
  float codes[N];
  for (int k = 0; k < kSteps; ++k) {
    const float inverse = (last - 0.5f + kStep * static_cast<float>(k)) / range;
    for (int i = 0; i < N; ++i) codes[i] = NearestCode((x[i] - min) * inverse, 0.0f, last);
    const float s = Sum<N>([&](int i) { return codes[i]; });
    const float ss = Sum<N>([&](int i) { return codes[i] * codes[i]; });
    const float sx = Sum<N>([&](int i) { return codes[i] * x[i]; });
    const float determinant = N * ss - s * s;
    if (!(determinant > 0.0f)) continue;
    Affine fit = {(N * sx - s * sum) / determinant, (ss * sum - s * sx) / determinant};
    if (below_zero && fit.min > 0.0f) fit = {sx / ss, 0.0f};
    const float error = Sum<N>([&](int i) {
      const float difference = x[i] - (fit.scale * codes[i] + fit.min);
      return difference * difference;
    });
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

}  // namespace minfer::kernels
