// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic on a logit that never makes NaN and never turns a finite logit into an infinite one:
// a penalty makes a token unlikely, only a bias of -infinity or a mask bans it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace minfer {

inline float ClampToFinite(double value) {
  constexpr double kLimit = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLimit, kLimit));
}

// `change` is finite or beyond a float, never NaN.
inline float AddToLogit(float logit, double change) {
  return std::isinf(logit) ? logit : ClampToFinite(static_cast<double>(logit) + change);
}

}  // namespace minfer
