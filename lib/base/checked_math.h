// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Unsigned arithmetic on numbers that come from a file or a caller: false instead of wrapping.
#pragma once

#include <cstdint>

namespace minfer {

[[nodiscard]] inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}

[[nodiscard]] inline bool CheckedMul(uint64_t a, uint64_t b, uint64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

// For messages: the largest number where the product does not fit.
inline uint64_t SaturatingMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return CheckedMul(a, b, &product) ? product : UINT64_MAX;
}

// Rounds `value` up to a multiple of `alignment`, a power of two.
[[nodiscard]] inline bool CheckedAlignUp(uint64_t value, uint64_t alignment, uint64_t* aligned) {
  if (!CheckedAdd(value, alignment - 1, aligned)) return false;
  *aligned &= ~(alignment - 1);
  return true;
}

}  // namespace minfer
