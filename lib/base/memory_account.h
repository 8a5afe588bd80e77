// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Counts memory by class, with peaks, and keeps a budget. One object a model or context; any
// thread may call it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/memory_class.h"
#include "base/status.h"

namespace minfer {

// Whether the class counts against a budget and in the total: backend buffers and captured graphs
// do; estimates and what is not ours do not.
constexpr bool IsBudgeted(MemoryClass memory_class) {
  return IsExactMemoryClass(memory_class) || memory_class == MemoryClass::kCapturedGraphs;
}

struct MemoryUsage {
  uint64_t bytes = 0;
  uint64_t peak = 0;
};

class MemoryAccount {
 public:
  struct Snapshot {
    std::array<MemoryUsage, kMemoryClassCount> by_class;
    MemoryUsage total;  // the budgeted classes together
    uint64_t budget = 0;

    const MemoryUsage& of(MemoryClass memory_class) const {
      return by_class[static_cast<size_t>(memory_class)];
    }
  };

  // A budget of 0 means none.
  explicit MemoryAccount(uint64_t budget = 0) : budget_(budget) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // RESOURCE_EXHAUSTED with the bytes wanted and still available, and nothing counted, when a
  // budgeted class would pass the budget. `name` says what the memory is for.
  Status Reserve(MemoryClass memory_class, uint64_t bytes, std::string_view name = {});
  void Release(MemoryClass memory_class, uint64_t bytes);

  Snapshot Read() const;

 private:
  mutable std::mutex mutex_;
  const uint64_t budget_;
  std::array<MemoryUsage, kMemoryClassCount> by_class_{};
  MemoryUsage total_;
};

}  // namespace minfer
