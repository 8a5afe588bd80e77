// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_memory.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/support/test_data.h"

namespace minfer {
namespace {

// A host's allocator that counts and can misbehave.
struct TestHost {
  size_t held = 0;
  int allocs = 0;
  int frees = 0;
  size_t shift = 0;  // spoils the alignment
  bool throws = false;

  HostAllocator allocator() { return {&Alloc, &Free, this}; }

  static void* Alloc(void* user_data, size_t bytes, size_t alignment) {
    TestHost& self = *static_cast<TestHost*>(user_data);
    if (self.throws) throw std::runtime_error("no");
    ++self.allocs;
    self.held += bytes;
    const size_t padded = (bytes + 2 * alignment) / alignment * alignment;
    return static_cast<char*>(std::aligned_alloc(alignment, padded)) + self.shift;
  }
  static void Free(void* user_data, void* memory, size_t bytes, size_t) {
    TestHost& self = *static_cast<TestHost*>(user_data);
    ++self.frees;
    self.held -= bytes;
    std::free(static_cast<char*>(memory) - self.shift);
  }
};

TEST_CASE("HostMemory: buffers are aligned, counted, and give back what they took", "[base]") {
  const auto account = std::make_shared<MemoryAccount>();
  const std::shared_ptr<HostMemory> memory = HostMemory::CreateDefault(account);
  {
    StatusOr<HostBuffer> first = memory->Allocate(MemoryClass::kKv, 1000);
    StatusOr<HostBuffer> second = memory->Allocate(MemoryClass::kScratch, 1);
    MF_REQUIRE_OK(first);
    MF_REQUIRE_OK(second);
    CHECK(reinterpret_cast<uintptr_t>(first->data()) % kHostMemoryAlignment == 0);
    CHECK(reinterpret_cast<uintptr_t>(second->data()) % kHostMemoryAlignment == 0);
    std::memset(first->data(), 1, first->size());
    CHECK(account->Read().of(MemoryClass::kKv).bytes == 1000);
    CHECK(memory->allocation_count() == 2);
    HostBuffer moved = std::move(first).value();
    CHECK(moved.size() == 1000);
    CHECK(first->empty());
    *second = std::move(moved);
    CHECK(second->size() == 1000);
  }
  CHECK(account->Read().total.bytes == 0);
  CHECK(account->Read().total.peak == 1001);
  StatusOr<HostBuffer> none = memory->Allocate(MemoryClass::kKv, 0);
  MF_REQUIRE_OK(none);
  CHECK(none->empty());
  CHECK(memory->allocation_count() == 2);
}

TEST_CASE("HostMemory: the host's allocator is asked and gets everything back", "[base]") {
  TestHost host;
  HostBuffer outlives;
  {
    StatusOr<std::shared_ptr<HostMemory>> memory =
        HostMemory::Create(host.allocator(), std::make_shared<MemoryAccount>());
    MF_REQUIRE_OK(memory);
    StatusOr<HostBuffer> buffer = (*memory)->Allocate(MemoryClass::kWeights, 4096);
    MF_REQUIRE_OK(buffer);
    outlives = std::move(buffer).value();
  }
  CHECK(host.held == 4096);
  outlives = HostBuffer();
  CHECK(host.held == 0);
  CHECK(host.allocs == 1);
  CHECK(host.frees == 1);
  HostAllocator half = host.allocator();
  half.free = nullptr;
  CHECK(HostMemory::Create(half, std::make_shared<MemoryAccount>()).status().code() ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("HostMemory: a refusal of any kind is a status and counts nothing", "[base]") {
  TestHost host;
  const auto account = std::make_shared<MemoryAccount>(10000);
  StatusOr<std::shared_ptr<HostMemory>> memory = HostMemory::Create(host.allocator(), account);
  MF_REQUIRE_OK(memory);
  const auto allocate = [&](size_t bytes) {
    return (*memory)->Allocate(MemoryClass::kRepackedWeights, bytes, "blk.0").status();
  };
  CHECK(allocate(10001).code() == StatusCode::kResourceExhausted);
  CHECK(host.allocs == 0);  // the budget is asked first
  (*memory)->FailNthAllocation(2);
  MF_REQUIRE_OK(allocate(100));
  const Status injected = allocate(100);
  CHECK(injected.code() == StatusCode::kResourceExhausted);
  CHECK(injected.name() == "blk.0");
  CHECK(injected.bytes_wanted() == 100);
  MF_REQUIRE_OK(allocate(100));
  host.throws = true;
  CHECK(allocate(100).code() == StatusCode::kResourceExhausted);
  host.throws = false;
  host.shift = 8;
  CHECK(allocate(100).code() == StatusCode::kInternal);
  CHECK(host.held == 0);
  CHECK(host.allocs == host.frees);
  CHECK(account->Read().total.bytes == 0);
}

}  // namespace
}  // namespace minfer
