// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/truncations.h"

namespace minfer {

void Xtc(CandidateList& list, float probability, float threshold, double uniform) {
  // Two candidates cannot both be above one half.
  if (probability <= 0.0F || threshold > 0.5F || uniform >= probability) return;
  if (!list.weighted) ComputeWeights(list);
  const double bound = (threshold - kShareTolerance) * list.total;
  const Candidate* least = nullptr;
  size_t top_choices = 0;
  for (const Candidate& candidate : list.items) {
    if (candidate.weight < bound) continue;
    ++top_choices;
    if (least == nullptr || RanksBefore(*least, candidate)) least = &candidate;
  }
  if (top_choices < 2) return;
  const int32_t kept = least->id;
  std::erase_if(list.items, [&](const Candidate& candidate) {
    return candidate.weight >= bound && candidate.id != kept;
  });
  SumWeights(list);
}

}  // namespace minfer
