// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Bytes on one device by class: what a plan says and what an account has counted.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace minfer
