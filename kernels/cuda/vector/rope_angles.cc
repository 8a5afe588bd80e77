// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/vector/rope_angles.h"

#include <algorithm>

namespace minfer::kernels::cuda {

KernelStatus MakeRopeAngles(const RopeParams& params, RopeAngles* out) {
  const RopeFrequencies frequencies = MakeRopeFrequencies(params);
  const size_t pairs = frequencies.per_position.size();
  if (pairs == 0 || pairs > kMaxRopePairs) return KernelStatus::kBadShape;
  *out = RopeAngles();
  std::copy(frequencies.per_position.begin(), frequencies.per_position.end(), out->per_position);
  out->magnitude = frequencies.magnitude;
  out->pairs = static_cast<int32_t>(pairs);
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::cuda
