// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_memory.h"

#include <new>

#include "base/str_cat.h"

namespace minfer {
namespace {

void* DefaultAlloc(void*, size_t bytes, size_t alignment) {
  return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
}

void DefaultFree(void*, void* memory, size_t, size_t alignment) {
  ::operator delete(memory, std::align_val_t(alignment));
}

constexpr HostAllocator kDefaultAllocator = {&DefaultAlloc, &DefaultFree, nullptr};

}  // namespace

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : owner_(std::move(other.owner_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      memory_class_(other.memory_class_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  owner_.swap(other.owner_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(memory_class_, other.memory_class_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (owner_ == nullptr || data_ == nullptr) return;
  owner_->FreeRaw(data_, size_);
  owner_->account_->Release(memory_class_, size_);
}

StatusOr<std::shared_ptr<HostMemory>> HostMemory::Create(HostAllocator allocator,
                                                         std::shared_ptr<MemoryAccount> account) {
  if ((allocator.alloc == nullptr) != (allocator.free == nullptr)) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kBackend,
                  "a host allocator needs both its functions, alloc and free");
  }
  if (allocator.alloc == nullptr) allocator = kDefaultAllocator;
  return std::shared_ptr<HostMemory>(new HostMemory(allocator, std::move(account)));
}

std::shared_ptr<HostMemory> HostMemory::CreateDefault(std::shared_ptr<MemoryAccount> account) {
  return std::shared_ptr<HostMemory>(new HostMemory(kDefaultAllocator, std::move(account)));
}

StatusOr<HostBuffer> HostMemory::Allocate(MemoryClass memory_class, size_t bytes,
                                          std::string_view name) {
  HostBuffer buffer;
  buffer.memory_class_ = memory_class;
  if (bytes == 0) return buffer;
  MF_RETURN_IF_ERROR(account_->Reserve(memory_class, bytes, name));
  void* memory = AllocateRaw(bytes);
  const bool aligned = reinterpret_cast<uintptr_t>(memory) % kHostMemoryAlignment == 0;
  if (memory == nullptr || !aligned) {
    account_->Release(memory_class, bytes);
    if (memory != nullptr) FreeRaw(memory, bytes);
    const StatusCode code = aligned ? StatusCode::kResourceExhausted : StatusCode::kInternal;
    return Status(code, Subsystem::kBackend,
                  aligned ? StrCat("no host memory left for ", bytes, " bytes of ",
                                   MemoryClassName(memory_class))
                          : StrCat("the host's allocator gave memory that is not aligned to ",
                                   kHostMemoryAlignment, " bytes"))
        .WithName(name)
        .WithBytes(bytes, 0);
  }
  buffer.owner_ = shared_from_this();
  buffer.data_ = static_cast<uint8_t*>(memory);
  buffer.size_ = bytes;
  return buffer;
}

void* HostMemory::AllocateRaw(size_t bytes) {
  allocation_count_.fetch_add(1, std::memory_order_relaxed);
  if (ShouldFail()) return nullptr;
  try {
    return allocator_.alloc(allocator_.user_data, bytes, kHostMemoryAlignment);
  } catch (...) {
    return nullptr;  // an allocator that throws has no memory
  }
}

void HostMemory::FreeRaw(void* memory, size_t bytes) {
  try {
    allocator_.free(allocator_.user_data, memory, bytes, kHostMemoryAlignment);
  } catch (...) {
    // Giving back cannot fail in a way that we could act on.
  }
}

bool HostMemory::ShouldFail() {
  uint64_t left = fail_countdown_.load(std::memory_order_relaxed);
  while (left != 0 &&
         !fail_countdown_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  return left == 1;
}

}  // namespace minfer
