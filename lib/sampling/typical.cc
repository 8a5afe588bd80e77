// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "sampling/truncations.h"

namespace minfer {

void Typical(CandidateList& list, float typical_p) {
  if (typical_p >= 1.0F) return;
  if (!list.weighted) ComputeWeights(list);
  const double total = list.total;
  const double log_total = std::log(total);
  const double highest = MaxLogit(list);
  // -log p, from the logits: the weight of an unlikely token may have underflowed.
  const auto surprise = [&](const Candidate& candidate) {
    return candidate.logit == highest ? log_total : highest - candidate.logit + log_total;
  };
  double entropy = 0.0;
  for (const Candidate& candidate : list.items) {
    if (candidate.weight > 0.0) entropy += candidate.weight / total * surprise(candidate);
  }
  const double bound = (typical_p - kShareTolerance) * total;
  double sum = 0.0;
  KeepInOrder(
      list,
      [&](const Candidate& a, const Candidate& b) {
        const double distance_a = std::abs(surprise(a) - entropy);
        const double distance_b = std::abs(surprise(b) - entropy);
        return distance_a != distance_b ? distance_a < distance_b : RanksBefore(a, b);
      },
      [&](const Candidate& candidate) {
        sum += candidate.weight;
        return sum >= bound;
      });
  list.sorted = false;
  SortByRank(list);
  SumWeights(list);
}

}  // namespace minfer
