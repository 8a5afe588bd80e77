// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pair_merger.h"

#include <algorithm>

namespace minfer {

void PairMerger::Clear() {
  symbols_.clear();
  queue_.clear();
}

void PairMerger::Push(uint64_t key, EncodeStats* stats) {
  uint64_t comparisons = 1;
  queue_.push_back(key);
  std::push_heap(queue_.begin(), queue_.end(), [&comparisons](uint64_t a, uint64_t b) {
    ++comparisons;
    return a > b;
  });
  stats->steps += comparisons;
}

uint64_t PairMerger::Pop(EncodeStats* stats) {
  uint64_t comparisons = 1;
  std::pop_heap(queue_.begin(), queue_.end(), [&comparisons](uint64_t a, uint64_t b) {
    ++comparisons;
    return a > b;
  });
  stats->steps += comparisons;
  const uint64_t key = queue_.back();
  queue_.pop_back();
  return key;
}

}  // namespace minfer
