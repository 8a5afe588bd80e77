// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The tokens that are still in the draw, and the order and arithmetic that the truncations share.
//
// Everything is decided by (logit, id), so equal logits are told apart by id and the outcome is the
// same on every machine. Sums run in double over a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace minfer {

struct Candidate {
  int32_t id = 0;
  float logit = 0.0F;
  double weight = 0.0;  // exp(logit - highest logit), valid after ComputeWeights
};

// What a call did, for tests that bound the work instead of the time.
struct SamplingCounts {
  int64_t comparisons = 0;  // of candidates with each other
  int64_t exponentials = 0;
  int64_t history_steps = 0;  // looks at a token of the history
};

// Invariant: never empty once filled; `sorted` tells that items stand in RanksBefore order,
// otherwise they stand by id.
struct CandidateList {
  std::vector<Candidate> items;
  bool sorted = false;
  bool weighted = false;
  double total = 0.0;  // sum of the weights, kept true by every truncation once weighted
  SamplingCounts* counts = nullptr;
};

// A share of the probability that rounding may take away: logits are floats, so a sum meant to be
// 0.7 can come out a hair below. Truncations that compare with a bound allow for this much.
inline constexpr double kShareTolerance = 1e-6;

inline bool RanksBefore(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// The highest logit of the list.
float MaxLogit(const CandidateList& list);

// Fills the weights at the given temperature (above 0) and the total. The highest logit has weight
// 1, so nothing overflows; +infinity shares the whole weight with its equals.
void ComputeWeights(CandidateList& list, double temperature = 1.0);

// Recomputes the total after items were taken away.
void SumWeights(CandidateList& list);

// Sorts the list in RanksBefore order.
void SortByRank(CandidateList& list);

// Keeps the candidates that come first by `before`, in that order, up to and including the one at
// which `enough` says so. n + m log n comparisons to keep m of n.
template <typename Before, typename Enough>
void KeepInOrder(CandidateList& list, Before before, Enough enough) {
  std::vector<Candidate>& items = list.items;
  const auto below = [&](const Candidate& a, const Candidate& b) {
    ++list.counts->comparisons;
    return before(b, a);
  };
  std::make_heap(items.begin(), items.end(), below);
  auto rest = items.end();
  while (rest != items.begin()) {
    std::pop_heap(items.begin(), rest, below);
    --rest;
    if (enough(*rest)) break;
  }
  // The kept ones stand at the back, the first one last.
  std::reverse(rest, items.end());
  items.erase(items.begin(), rest);
}

}  // namespace minfer
