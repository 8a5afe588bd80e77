// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/draw.h"

namespace minfer {

const Candidate& Draw(const CandidateList& list, double uniform) {
  const double target = uniform * list.total;
  const Candidate* last = &list.items.front();
  double sum = 0.0;
  for (const Candidate& candidate : list.items) {
    if (candidate.weight <= 0.0) continue;
    last = &candidate;
    sum += candidate.weight;
    if (sum > target) break;
  }
  return *last;
}

}  // namespace minfer
