// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/candidates.h"

#include <cmath>
#include <limits>

namespace minfer {

float MaxLogit(const CandidateList& list) {
  if (list.sorted) return list.items.front().logit;
  float highest = -std::numeric_limits<float>::infinity();
  for (const Candidate& candidate : list.items) highest = std::max(highest, candidate.logit);
  return highest;
}

void ComputeWeights(CandidateList& list, double temperature) {
  // exp() below this is 0 in a double; not asking keeps errno untouched.
  constexpr double kUnderflow = -708.0;
  const float highest = MaxLogit(list);
  for (Candidate& candidate : list.items) {
    if (candidate.logit == highest) {
      candidate.weight = 1.0;
      continue;
    }
    const double exponent =
        (static_cast<double>(candidate.logit) - static_cast<double>(highest)) / temperature;
    if (exponent < kUnderflow) {
      candidate.weight = 0.0;
      continue;
    }
    candidate.weight = std::exp(exponent);
    ++list.counts->exponentials;
  }
  list.weighted = true;
  SumWeights(list);
}

void SumWeights(CandidateList& list) {
  list.total = 0.0;
  for (const Candidate& candidate : list.items) list.total += candidate.weight;
}

void SortByRank(CandidateList& list) {
  if (list.sorted) return;
  std::sort(list.items.begin(), list.items.end(), [&](const Candidate& a, const Candidate& b) {
    ++list.counts->comparisons;
    return RanksBefore(a, b);
  });
  list.sorted = true;
}

}  // namespace minfer
