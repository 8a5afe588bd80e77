// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The pages of one KV group: which are free, and how many sequences share each. Page numbers only;
// the memory belongs to a backend. Thread-compatible: the context's step lock guards it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace minfer {

class PagePool {
 public:
  // Page 0 is the scratch page: padding rows store there, and nobody owns it. shuffle_seed: 0 hands
  // pages out in ascending order, any other value in a random order (a test of rule 11).
  PagePool(int32_t n_pages, uint64_t shuffle_seed);

  static constexpr int32_t kScratchPage = 0;

  int32_t total() const { return static_cast<int32_t>(references_.size()); }
  int32_t available() const { return static_cast<int32_t>(free_.size()); }

  // A page with one reference. RESOURCE_EXHAUSTED when none is free.
  StatusOr<int32_t> Take();
  void AddReference(int32_t page);
  // Free again when the last reference goes. Never allocates.
  void Release(int32_t page);
  int32_t references(int32_t page) const { return references_[static_cast<size_t>(page)]; }

 private:
  std::vector<int32_t> references_;
  std::vector<int32_t> free_;  // a stack with room for all pages
};

}  // namespace minfer
