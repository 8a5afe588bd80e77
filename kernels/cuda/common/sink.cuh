// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention sinks: one more score a head, without a value, that joins a row's sum at the end.
#pragma once

namespace minfer::kernels::cuda {

// What a row's sums are to be multiplied with and divided by, once the sink of its head has joined
// them; without one they stay as they are.
struct SinkScale {
  float keep;
  float total;
};

__device__ __forceinline__ SinkScale AddSink(const float* sinks, int head, float highest,
                                             float total) {
  if (sinks == nullptr) return {1.0f, total};
  const float largest = fmaxf(highest, sinks[head]);
  const float keep = expf(highest - largest);
  return {keep, total * keep + expf(sinks[head] - largest)};
}

}  // namespace minfer::kernels::cuda
