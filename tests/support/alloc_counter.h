// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Counts what goes through operator new, and makes it fail on demand. A program that links
// minfer_alloc_counter has its operators new and delete replaced.
#pragma once

#include <cstdint>

namespace minfer::testing {

struct AllocCounts {
  uint64_t calls = 0;          // to operator new, since the program began
  uint64_t current_bytes = 0;  // held now
  uint64_t peak_bytes = 0;     // held at most since the last ResetAllocPeak()
};

AllocCounts ReadAllocCounts();
// The peak starts again from what is held now.
void ResetAllocPeak();
// The n-th next allocation (1 is the next one) throws std::bad_alloc, then all is as before; 0
// takes that back.
void FailNthAlloc(uint64_t n);

// What was taken at most, beyond what was held before, from its making until Bytes().
class AllocPeak {
 public:
  AllocPeak() : before_(ReadAllocCounts().current_bytes) { ResetAllocPeak(); }
  uint64_t Bytes() const { return ReadAllocCounts().peak_bytes - before_; }

 private:
  uint64_t before_;
};

}  // namespace minfer::testing
