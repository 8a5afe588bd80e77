// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Bytes on one device by class: what a plan says and what an account has counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory_account.h"
#include "base/memory_class.h"

namespace minfer {

struct MemoryUse {
  std::array<uint64_t, kMemoryClassCount> bytes{};

  uint64_t& operator[](MemoryClass c) { return bytes[static_cast<size_t>(c)]; }
  uint64_t operator[](MemoryClass c) const { return bytes[static_cast<size_t>(c)]; }
  // What a budget is compared with.
  uint64_t total() const {
    uint64_t sum = 0;
    for (int32_t c = 0; c < kMemoryClassCount; ++c) {
      if (IsBudgeted(static_cast<MemoryClass>(c))) sum += bytes[static_cast<size_t>(c)];
    }
    return sum;
  }
};

inline MemoryUse SumOf(const std::vector<MemoryUse>& uses) {
  MemoryUse sum;
  for (const MemoryUse& use : uses) {
    for (size_t c = 0; c < sum.bytes.size(); ++c) sum.bytes[c] += use.bytes[c];
  }
  return sum;
}

// One account a device of a model's placement.
using MemoryAccounts = std::vector<std::shared_ptr<MemoryAccount>>;

inline void AddUsage(const MemoryUsage& more, MemoryUsage* to) {
  to->bytes += more.bytes;
  to->peak += more.peak;
}

// What two accounts have counted together.
inline void AddSnapshot(const MemoryAccount::Snapshot& more, MemoryAccount::Snapshot* to) {
  for (size_t c = 0; c < to->by_class.size(); ++c) AddUsage(more.by_class[c], &to->by_class[c]);
  AddUsage(more.total, &to->total);
  to->budget += more.budget;
}

}  // namespace minfer
