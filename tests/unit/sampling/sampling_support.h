// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the sampling suites share.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "sampling/sampler.h"
#include "tests/support/test_data.h"

namespace minfer::testing {

inline Sampler MakeSampler(const SamplingSettings& settings, int32_t n_vocab) {
  StatusOr<Sampler> sampler = Sampler::Create(settings, n_vocab);
  MF_REQUIRE_OK(sampler);
  return *sampler;
}

inline std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// Token -> probability of what the sampler would draw from.
inline std::map<int32_t, double> DistributionOf(const Sampler& sampler, const SampleInput& input) {
  SamplerScratch scratch;
  MF_REQUIRE_OK(sampler.Distribution(input, scratch));
  std::map<int32_t, double> result;
  for (const Candidate& candidate : scratch.candidates.items) {
    result[candidate.id] = candidate.weight / scratch.candidates.total;
  }
  return result;
}

inline std::map<int32_t, double> DistributionOf(const SamplingSettings& settings,
                                                const std::vector<float>& logits,
                                                const std::vector<int32_t>& history = {}) {
  const Sampler sampler = MakeSampler(settings, static_cast<int32_t>(logits.size()));
  return DistributionOf(sampler, {.logits = logits, .history = history});
}

// A fixed pseudo-random row, the same on every machine.
inline std::vector<float> NoiseLogits(size_t n, uint32_t seed) {
  std::vector<float> logits(n);
  uint32_t state = seed * 2654435761U + 1;
  for (float& logit : logits) {
    state = state * 1664525U + 1013904223U;
    logit = static_cast<float>(state >> 8) * 0x1p-24F * 16.0F - 8.0F;
  }
  return logits;
}

}  // namespace minfer::testing
