// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/alloc_counter.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> g_calls{0};
std::atomic<uint64_t> g_current{0};
std::atomic<uint64_t> g_peak{0};
std::atomic<uint64_t> g_fail_countdown{0};

bool ShouldFail() {
  uint64_t left = g_fail_countdown.load();
  while (left != 0 && !g_fail_countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1;
}

void* Take(std::size_t size, std::size_t alignment) {
  g_calls.fetch_add(1);
  if (ShouldFail()) return nullptr;
  const std::size_t padded = (std::max<std::size_t>(size, 1) + alignment - 1) & ~(alignment - 1);
  if (padded < size) return nullptr;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(padded)
                                                        : std::aligned_alloc(alignment, padded);
  if (memory == nullptr) return nullptr;
  const uint64_t now = g_current.fetch_add(malloc_usable_size(memory)) + malloc_usable_size(memory);
  uint64_t peak = g_peak.load();
  while (peak < now && !g_peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void* TakeOrThrow(std::size_t size, std::size_t alignment) {
  if (void* memory = Take(size, alignment)) return memory;
  throw std::bad_alloc();
}

void Give(void* memory) noexcept {
  if (memory != nullptr) g_current.fetch_sub(malloc_usable_size(memory));
  std::free(memory);
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

}  // namespace

namespace minfer::testing {

AllocCounts ReadAllocCounts() { return {g_calls.load(), g_current.load(), g_peak.load()}; }
void ResetAllocPeak() { g_peak.store(g_current.load()); }
void FailNthAlloc(uint64_t n) { g_fail_countdown.store(n); }

}  // namespace minfer::testing

void* operator new(std::size_t size) { return TakeOrThrow(size, kDefault); }
void* operator new[](std::size_t size) { return TakeOrThrow(size, kDefault); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return TakeOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return TakeOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return Take(size, kDefault);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return Take(size, kDefault);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { Give(memory); }
void operator delete[](void* memory) noexcept { Give(memory); }
void operator delete(void* memory, std::size_t) noexcept { Give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Give(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Give(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Give(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Give(memory);
}
