// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/mirostat.h"

#include <cmath>

namespace minfer {

double MirostatCut(CandidateList& list, double mu) {
  if (!list.weighted) ComputeWeights(list);
  const double total = list.total;
  // -log2(w / total) > mu is w < total * 2^-mu. The best candidate has weight 1.
  const double bound = std::min(total * std::exp2(std::clamp(-mu, -1000.0, 1000.0)), 1.0);
  const float highest = MaxLogit(list);
  std::erase_if(list.items, [&](const Candidate& candidate) {
    return candidate.logit != highest && candidate.weight < bound;
  });
  SumWeights(list);
  return total;
}

double SurpriseBits(float logit, float highest, double total) {
  const double below = logit == highest ? 0.0 : static_cast<double>(highest) - logit;
  return below * 1.4426950408889634 + std::log2(total);
}

double MirostatStep(double mu, double surprise, double tau, double eta) {
  return mu - eta * (surprise - tau);
}

double MirostatTrack::At(int64_t position, double initial) const {
  const auto after =
      std::partition_point(entries_.begin(), entries_.end(),
                           [&](const Entry& entry) { return entry.position < position; });
  return after == entries_.begin() ? initial : (after - 1)->mu;
}

void MirostatTrack::Commit(int64_t position, double mu) {
  if (entries_.size() == entries_.capacity()) entries_.reserve(entries_.size() * 2 + 16);
  Rewind(position);
  entries_.push_back({position, mu});
}

void MirostatTrack::Rewind(int64_t position) {
  while (!entries_.empty() && entries_.back().position >= position) entries_.pop_back();
}

}  // namespace minfer
