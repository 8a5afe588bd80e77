// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kv/page_pool.h"

#include <utility>

namespace minfer {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): enough to shuffle with.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

PagePool::PagePool(int32_t n_pages, uint64_t shuffle_seed) {
  references_.assign(static_cast<size_t>(n_pages), 0);
  free_.reserve(static_cast<size_t>(n_pages));
  for (int32_t page = n_pages - 1; page > kScratchPage; --page) free_.push_back(page);
  if (shuffle_seed == 0) return;
  uint64_t state = shuffle_seed;
  for (size_t i = free_.size(); i > 1; --i) {
    std::swap(free_[i - 1], free_[NextRandom(&state) % i]);
  }
}

StatusOr<int32_t> PagePool::Take() {
  if (free_.empty()) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kKv,
                  "all " + std::to_string(total() - 1) + " KV pages are in use");
  }
  int32_t page = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::AddReference(int32_t page) { ++references_[static_cast<size_t>(page)]; }

void PagePool::Release(int32_t page) {
  if (--references_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

}  // namespace minfer
