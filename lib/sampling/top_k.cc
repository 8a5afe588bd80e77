// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "sampling/truncations.h"

namespace minfer {

// The first k items are a heap with the worst of them on top. Most of the others lose against it at
// once, so a large vocabulary costs little more than one comparison a token.
void TopK(CandidateList& list, int32_t k) {
  std::vector<Candidate>& items = list.items;
  const auto keep = static_cast<size_t>(k);
  if (k == 0 || keep >= items.size()) return;
  if (list.sorted) {
    items.resize(keep);
  } else {
    const auto ranks_before = [&](const Candidate& a, const Candidate& b) {
      ++list.counts->comparisons;
      return RanksBefore(a, b);
    };
    const auto heap_end = items.begin() + k;
    std::make_heap(items.begin(), heap_end, ranks_before);
    for (auto it = heap_end; it != items.end(); ++it) {
      if (!ranks_before(*it, items.front())) continue;
      std::pop_heap(items.begin(), heap_end, ranks_before);
      *(heap_end - 1) = *it;
      std::push_heap(items.begin(), heap_end, ranks_before);
    }
    std::sort_heap(items.begin(), heap_end, ranks_before);
    items.resize(keep);
    list.sorted = true;
  }
  if (list.weighted) SumWeights(list);
}

}  // namespace minfer
