// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/vector_reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/cpu/math_constants.h"

namespace minfer::kernels::reference {

float Exp(float x) {
  if (std::isnan(x)) return x;
  x = std::fmin(kExpHighest, std::fmax(kExpLowest, x));
  const float n = std::nearbyint(x * kLog2E);
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = kExpPoly[4];
  for (int i = 3; i >= 0; --i) p = p * r + kExpPoly[i];
  p = p * (r * r) + r;
  p = p + 1.0f;
  const float half = std::nearbyint(n * 0.5f);
  return (p * std::ldexp(1.0f, static_cast<int>(half))) *
         std::ldexp(1.0f, static_cast<int>(n - half));
}

float Tanh(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < kTanhSmall) {
    const float square = x * x;
    float q = kTanhPoly[5];
    for (int i = 4; i >= 0; --i) q = q * square + kTanhPoly[i];
    return (q * square) * x + x;
  }
  return std::copysign(1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f), x);
}

float Silu(float x) { return x / (1.0f + Exp(0.0f - x)); }

float GeluTanh(float x) {
  const float inner = kGeluCubic * ((x * x) * x) + x;
  return x / (1.0f + Exp((-2.0f * kGeluScale) * inner));
}

float ClampedSwiglu(float gate, float up, float alpha, float limit) {
  const float g = std::isnan(gate) || gate < limit ? gate : limit;
  const float low = std::isnan(up) || up < limit ? up : limit;
  const float u = std::isnan(low) || low > -limit ? low : -limit;
  return g / (1.0f + Exp(0.0f - alpha * g)) * (u + 1.0f);
}

double TrueSilu(double x) { return x / (1.0 + std::exp(-x)); }

double TrueGeluTanh(double x) {
  const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1.0 + std::exp(-2.0 * u));
}

double TrueClampedSwiglu(double gate, double up, double alpha, double limit) {
  const double g = std::min(gate, limit);
  const double u = std::clamp(up, -limit, limit);
  return g / (1.0 + std::exp(-alpha * g)) * (u + 1.0);
}

void RmsNorm(const float* x, const float* weight, float* out, int64_t n, float eps) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  const auto inverse =
      static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) {
    out[i] = weight == nullptr ? x[i] * inverse : x[i] * inverse * weight[i];
  }
}

void LayerNorm(const float* x, const float* weight, const float* bias, float* out, int64_t n,
               float eps) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(n);
  double squares = 0.0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double inverse =
      1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps));
  for (int64_t i = 0; i < n; ++i) {
    const double shift = bias == nullptr ? 0.0 : static_cast<double>(bias[i]);
    out[i] = static_cast<float>((x[i] - mean) * inverse * static_cast<double>(weight[i]) + shift);
  }
}

void Rope(const float* x, float* out, const float* cos_sin, int32_t n_heads, int32_t head_dim,
          int32_t rope_dim, bool neox) {
  for (int32_t h = 0; h < n_heads; ++h) {
    const float* from = x + int64_t{h} * head_dim;
    std::vector<float> head(from, from + head_dim);
    for (int32_t i = 0; i < rope_dim / 2; ++i) {
      const int32_t first = neox ? i : 2 * i;
      const int32_t second = neox ? i + rope_dim / 2 : 2 * i + 1;
      const double a = from[first];
      const double b = from[second];
      const double c = cos_sin[2 * i];
      const double s = cos_sin[2 * i + 1];
      head[static_cast<size_t>(first)] = static_cast<float>(a * c - b * s);
      head[static_cast<size_t>(second)] = static_cast<float>(a * s + b * c);
    }
    for (int32_t i = 0; i < head_dim; ++i) {
      out[int64_t{h} * head_dim + i] = head[static_cast<size_t>(i)];
    }
  }
}

}  // namespace minfer::kernels::reference
