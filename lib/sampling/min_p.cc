// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "sampling/truncations.h"

namespace minfer {

// p(x) >= min_p * p(best) is logit(x) >= logit(best) + log(min_p): no softmax is needed.
void MinP(CandidateList& list, float min_p) {
  if (min_p <= 0.0F) return;
  std::vector<Candidate>& items = list.items;
  if (min_p > 1.0F) {
    items[0] = *std::min_element(items.begin(), items.end(), RanksBefore);
    items.resize(1);
    list.sorted = true;
  } else {
    const float highest = MaxLogit(list);
    const double bound =
        static_cast<double>(highest) + std::log(static_cast<double>(min_p)) - kShareTolerance;
    std::erase_if(items, [&](const Candidate& candidate) {
      return candidate.logit != highest && candidate.logit < bound;
    });
  }
  if (list.weighted) SumWeights(list);
}

}  // namespace minfer
