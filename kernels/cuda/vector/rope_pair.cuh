// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The cos and sin of one pair of one row, in double.
#pragma once

#include "kernels/cuda/vector/vector.h"

namespace minfer::kernels::cuda {

// i: of all pairs of all rows.
__device__ __forceinline__ void RopePair(const RopeAngles& angles, const int32_t* positions,
                                         int64_t i, float* out) {
  const int64_t row = i / angles.pairs;
  const int pair = static_cast<int>(i % angles.pairs);
  const double angle = static_cast<double>(positions[row]) * angles.per_position[pair];
  out[2 * i] = static_cast<float>(cos(angle) * angles.magnitude);
  out[2 * i + 1] = static_cast<float>(sin(angle) * angles.magnitude);
}

}  // namespace minfer::kernels::cuda
