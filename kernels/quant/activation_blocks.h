// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How rows of activations are stored before a matrix product. A scale is kept in f32 (a half would
// overflow on large activations), and so is everything made from it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::kernels {

enum class ActivationFormat : int32_t {
  kF32 = 0,         // as they are
  kQ8Block32 = 1,   // ActivationBlock32 for each 32 values (partner of 32-value blocks)
  kQ8Block256 = 2,  // ActivationBlock256 for each 256 values (partner of super-blocks)
  kBF16 = 3,        // rounded to nearest even, zeros up to a multiple of 32 values (of BF16)
};

// value[i] is about scale * quants[i], quants in [-127, 127]. A block with a value that is not
// finite has scale and scaled_sum NaN and all quants 0, so that the product is NaN too.
struct ActivationBlock32 {
  float scale;
  float scaled_sum;     // scale * (sum of quants)
  int32_t negated_sum;  // -(sum of quants)
  int32_t unused;       // 0
  int8_t quants[32];
};
static_assert(sizeof(ActivationBlock32) == 48);

struct ActivationBlock256 {
  float scale;
  int32_t unused[3];    // 0
  int16_t sums_16[16];  // sums of 16 quants each
  int16_t sums_32[8];   // sums of 32 quants each
  int8_t quants[256];
};
static_assert(sizeof(ActivationBlock256) == 320);

// Blocks whose largest magnitude is below this are taken as zero: 127 / magnitude would overflow.
inline constexpr float kSmallestActivation = 0x1p-119f;

}  // namespace minfer::kernels
