// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_account.h"

#include <algorithm>
#include <limits>

#include "base/str_cat.h"

namespace minfer {
namespace {

void Take(MemoryUsage& usage, uint64_t bytes) {
  usage.bytes += bytes;
  usage.peak = std::max(usage.peak, usage.bytes);
}

void Give(MemoryUsage& usage, uint64_t bytes) { usage.bytes -= std::min(usage.bytes, bytes); }

}  // namespace

Status MemoryAccount::Reserve(MemoryClass memory_class, uint64_t bytes, std::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  MemoryUsage& usage = by_class_[static_cast<size_t>(memory_class)];
  const bool budgeted = IsBudgeted(memory_class);
  const uint64_t limit = budgeted && budget_ != 0 ? budget_ : std::numeric_limits<uint64_t>::max();
  const uint64_t held = budgeted ? total_.bytes : usage.bytes;
  const uint64_t available = limit - std::min(limit, held);
  if (bytes > available) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kBackend,
                  StrCat(MemoryClassName(memory_class), " of ", bytes,
                         " bytes would pass the memory budget of ", limit, " bytes, ", held,
                         " in use"))
        .WithName(name)
        .WithBytes(bytes, available);
  }
  Take(usage, bytes);
  if (budgeted) Take(total_, bytes);
  return OkStatus();
}

void MemoryAccount::Release(MemoryClass memory_class, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Give(by_class_[static_cast<size_t>(memory_class)], bytes);
  if (IsBudgeted(memory_class)) Give(total_, bytes);
}

MemoryAccount::Snapshot MemoryAccount::Read() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Snapshot{by_class_, total_, budget_};
}

}  // namespace minfer
