// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/truncations.h"

namespace minfer {

void TopP(CandidateList& list, float top_p) {
  if (top_p >= 1.0F) return;
  if (!list.weighted) ComputeWeights(list);
  const double bound = (top_p - kShareTolerance) * list.total;
  double sum = 0.0;
  const auto enough = [&](const Candidate& candidate) {
    sum += candidate.weight;
    return sum >= bound;
  };
  if (list.sorted) {
    size_t kept = 0;
    while (kept < list.items.size() && !enough(list.items[kept])) ++kept;
    if (kept < list.items.size()) list.items.resize(kept + 1);
  } else {
    KeepInOrder(list, RanksBefore, enough);
    list.sorted = true;
  }
  SumWeights(list);
}

}  // namespace minfer
