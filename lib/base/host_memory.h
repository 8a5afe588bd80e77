// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one door for backend memory on the host: every weight copy, page, activation and staging
// buffer comes through a HostMemory, which counts it and asks the host's allocator when there is
// one. C++ objects do not pass here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "base/memory_account.h"
#include "base/status.h"

namespace minfer {

inline constexpr size_t kHostMemoryAlignment = 64;

// Both functions or neither; neither means aligned operator new. alloc returns NULL when it has no
// memory. Called from any thread that works for the model or context, also at once.
struct HostAllocator {
  void* (*alloc)(void* user_data, size_t bytes, size_t alignment) = nullptr;
  void (*free)(void* user_data, void* memory, size_t bytes, size_t alignment) = nullptr;
  void* user_data = nullptr;
};

class HostMemory;

// Owns its bytes and gives them back, also in the account. Empty when default-made.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  absl::Span<uint8_t> bytes() const { return {data_, size_}; }
  MemoryClass memory_class() const { return memory_class_; }

 private:
  friend class HostMemory;

  std::shared_ptr<HostMemory> owner_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  MemoryClass memory_class_ = MemoryClass::kWeights;
};

// Any thread. Buffers keep it, and through it the account, alive.
class HostMemory : public std::enable_shared_from_this<HostMemory> {
 public:
  // INVALID_ARGUMENT when only one of the allocator's functions is given.
  static StatusOr<std::shared_ptr<HostMemory>> Create(HostAllocator allocator,
                                                      std::shared_ptr<MemoryAccount> account);
  // The default allocator.
  static std::shared_ptr<HostMemory> CreateDefault(std::shared_ptr<MemoryAccount> account);

  // Memory aligned to kHostMemoryAlignment, its content undefined; 0 bytes give an empty buffer
  // without asking anyone. RESOURCE_EXHAUSTED, with nothing counted, when the budget or the
  // allocator refuses; INTERNAL when the host's allocator breaks its promise of alignment.
  StatusOr<HostBuffer> Allocate(MemoryClass memory_class, size_t bytes, std::string_view name = {});

  MemoryAccount& account() const { return *account_; }
  // Calls to the allocator so far.
  uint64_t allocation_count() const { return allocation_count_.load(std::memory_order_relaxed); }
  // For tests: the n-th next allocation (1 is the next one) fails as if memory had run out; 0
  // takes that back.
  void FailNthAllocation(uint64_t n) { fail_countdown_.store(n, std::memory_order_relaxed); }

 private:
  friend class HostBuffer;

  HostMemory(HostAllocator allocator, std::shared_ptr<MemoryAccount> account)
      : allocator_(allocator), account_(std::move(account)) {}
  void* AllocateRaw(size_t bytes);
  void FreeRaw(void* memory, size_t bytes);
  bool ShouldFail();

  const HostAllocator allocator_;
  const std::shared_ptr<MemoryAccount> account_;
  std::atomic<uint64_t> allocation_count_{0};
  std::atomic<uint64_t> fail_countdown_{0};
};

}  // namespace minfer
