// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Log-probabilities of the model's own distribution: before bias, penalties, truncation and
// temperature, over the tokens of the vocabulary (spare rows have no share).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "sampling/candidates.h"

namespace minfer {

struct TokenLogProbability {
  int32_t token = 0;
  float log_probability = 0.0F;  // natural logarithm
};

// Reads one row of logits; the row must outlive the object and stay as it is.
class LogProbabilities {
 public:
  // Fails on NaN, on a row shorter than the vocabulary, and where every logit is -infinity.
  static StatusOr<LogProbabilities> Create(absl::Span<const float> logits, int32_t n_vocab);

  // OUT_OF_RANGE for an id outside the vocabulary.
  StatusOr<float> Of(int32_t token) const;

  // The best tokens, best first, the lowest id first among equals; fills `out` as far as the
  // vocabulary goes and returns how many. `scratch` keeps its memory for the next call.
  int32_t Top(absl::Span<TokenLogProbability> out, std::vector<Candidate>& scratch) const;

 private:
  LogProbabilities(absl::Span<const float> logits, float highest, double log_total)
      : logits_(logits), highest_(highest), log_total_(log_total) {}
  float LogProbability(float logit) const;

  absl::Span<const float> logits_;
  float highest_;
  double log_total_;
};

}  // namespace minfer
