// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// f32 arithmetic in which numbers below 2^-126 are zero, as VDPBF16PS computes and as x86 does with
// MXCSR's FTZ and DAZ set: the sign stays, and a result is small when rounding to 24 bits leaves it
// below 2^-126.
#pragma once

#include <cmath>

namespace minfer::kernels {

inline float FlushToZero(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// a * b + c, rounded once. Operands are not below 2^-126, or zero; a and b are
// BF16 values, so that a double holds their product.
inline float FlushedFma(float a, float b, float c) {
  // Below this, 24 bits don't round up to 2^-126; where a double rounds the sum, it is far above.
  constexpr double kSmallest = 0x1p-126 - 0x1p-151;
  const double sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
  if (std::fabs(sum) < kSmallest) return std::copysign(0.0f, static_cast<float>(sum));
  return std::fma(a, b, c);
}

// Sums of floats below 2^-126 are exact.
inline float FlushedAdd(float a, float b) { return FlushToZero(a + b); }

}  // namespace minfer::kernels
