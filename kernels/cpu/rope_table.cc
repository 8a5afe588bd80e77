// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace minfer::kernels {
namespace {

bool PositiveFinite(double x) { return std::isfinite(x) && x > 0.0; }

// The pair index (not an integer) that turns `turns` times in the original context.
double PairThatTurns(const RopeParams& p, double turns) {
  return p.rope_dim * std::log(p.yarn_original_context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(p.base));
}

// 1 for a pair that keeps its angle, 0 for one that is interpolated.
double YarnKeep(const RopeParams& p, double pair, double low, double high) {
  const double ramp = (pair - low) / std::max(0.001, high - low);
  return (1.0 - std::clamp(ramp, 0.0, 1.0)) * p.yarn_ext_factor;
}

}  // namespace

RopeFrequencies MakeRopeFrequencies(const RopeParams& p) {
  RopeFrequencies result;
  result.magnitude = p.magnitude;
  if (p.rope_dim <= 0 || p.rope_dim % 2 != 0 || !PositiveFinite(p.base) ||
      !PositiveFinite(p.linear_factor)) {
    return result;
  }
  if (p.yarn && (!PositiveFinite(p.yarn_factor) || !PositiveFinite(p.yarn_original_context) ||
                 !PositiveFinite(p.yarn_beta_fast) || !PositiveFinite(p.yarn_beta_slow))) {
    return result;
  }
  double low = 0.0;
  double high = 0.0;
  if (p.yarn) {
    low = std::max(0.0, std::floor(PairThatTurns(p, p.yarn_beta_fast)));
    high = std::min(p.rope_dim - 1.0, std::ceil(PairThatTurns(p, p.yarn_beta_slow)));
  }
  result.per_position.resize(static_cast<size_t>(p.rope_dim / 2));
  for (int32_t i = 0; i < p.rope_dim / 2; ++i) {
    double angle = std::pow(p.base, -2.0 * i / p.rope_dim);
    if (p.frequency_factors != nullptr) angle /= p.frequency_factors[i];
    if (p.yarn) {
      const double keep = YarnKeep(p, i, low, high);
      angle = angle / p.yarn_factor * (1.0 - keep) + angle * keep;
    } else {
      angle /= p.linear_factor;
    }
    result.per_position[static_cast<size_t>(i)] = angle;
  }
  return result;
}

double YarnMagnitude(double factor) { return factor > 1.0 ? 1.0 + 0.1 * std::log(factor) : 1.0; }

double LongRopeMagnitude(double max_context, double original_context) {
  if (!(max_context > original_context) || !(original_context > 1.0)) return 1.0;
  return std::sqrt(1.0 + std::log(max_context / original_context) / std::log(original_context));
}

void BuildRopeRow(const RopeFrequencies& frequencies, int64_t position, float* cos_sin) {
  for (size_t i = 0; i < frequencies.per_position.size(); ++i) {
    const double angle = static_cast<double>(position) * frequencies.per_position[i];
    cos_sin[2 * i] = static_cast<float>(std::cos(angle) * frequencies.magnitude);
    cos_sin[2 * i + 1] = static_cast<float>(std::sin(angle) * frequencies.magnitude);
  }
}

}  // namespace minfer::kernels
