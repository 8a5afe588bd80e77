// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Rotary position embedding: the table of (cos, sin) pairs that VectorKernels::rope reads. The
// frequencies of a model are made once; a row of the table then costs one sine and cosine a pair.
// Everything is computed in double and rounded once, so a far position loses nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace minfer::kernels {

struct RopeParams {
  int32_t rope_dim = 0;  // values that rotate, even; the rest of a head stays
  double base = 10000.0;
  double linear_factor = 1.0;  // angles are divided by it
  bool yarn = false;
  double yarn_factor = 1.0;
  double yarn_original_context = 0.0;
  double yarn_beta_fast = 32.0;
  double yarn_beta_slow = 1.0;
  double yarn_ext_factor = 1.0;  // how much of the ramp applies: 0 leaves plain interpolation
  double magnitude = 1.0;        // cos and sin are multiplied by it
  // rope_dim / 2 divisors of the frequencies (Llama 3 factors, longrope), or nullptr.
  const float* frequency_factors = nullptr;
};

struct RopeFrequencies {
  std::vector<double> per_position;  // angle of pair i at position p = p * per_position[i]
  double magnitude = 1.0;
};

// Pair i turns by base^(-2i / rope_dim) a position, divided by its factor. Linear scaling divides
// that by linear_factor. YaRN mixes the angle a and a / yarn_factor: a pair that turns more than
// beta_fast times in the original context keeps a, one that turns less than beta_slow times gets
// a / yarn_factor, with a linear ramp over the pairs between (Peng et al. 2023, section 3.2, with
// the rounding of the ramp's ends that GGUF models expect). The result is empty when rope_dim is
// not positive and even, or a number is not finite and positive.
RopeFrequencies MakeRopeFrequencies(const RopeParams& params);

// The magnitude that YaRN prescribes for a factor: 1 + 0.1 ln(factor), 1 for factors up to 1.
double YarnMagnitude(double factor);

// The magnitude of longrope: sqrt(1 + ln(max / original) / ln(original)), 1 where max <= original.
double LongRopeMagnitude(double max_context, double original_context);

// One row: rope_dim / 2 pairs (cos, sin) for a position.
void BuildRopeRow(const RopeFrequencies& frequencies, int64_t position, float* cos_sin);

}  // namespace minfer::kernels
