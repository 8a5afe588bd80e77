// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tests/conformance/checks.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr uint64_t kBytes = 256;

class PoolUser {
 public:
  explicit PoolUser(const Factory& factory)
      : memory_(HostMemory::CreateDefault(std::make_shared<MemoryAccount>())),
        backend_(factory.make_backend(memory_)) {}

  Backend& backend() { return *backend_; }
  BufferRange Take(uint64_t bytes) {
    const StatusOr<BufferId> buffer = backend_->Allocate(bytes, MemoryClass::kActivations);
    MF_REQUIRE_OK(buffer);
    return {*buffer, 0, bytes};
  }
  Status Write(const BufferRange& range, uint8_t pattern) {
    return backend_->Write(range, std::vector<uint8_t>(range.bytes, pattern).data());
  }
  // True when the range holds the pattern after a wait.
  bool Holds(const BufferRange& range, uint8_t pattern) {
    std::vector<uint8_t> bytes(range.bytes, static_cast<uint8_t>(pattern + 1));
    const StatusOr<std::shared_ptr<Event>> event = backend_->Read(range, bytes.data());
    if (!event.ok() || !(*event)->Wait().ok()) return false;
    return std::all_of(bytes.begin(), bytes.end(), [pattern](uint8_t b) { return b == pattern; });
  }

 private:
  std::shared_ptr<HostMemory> memory_;
  std::unique_ptr<Backend> backend_;
};

void CheckRecycling(const Factory& factory, Faults* faults) {
  PoolUser pool(factory);
  Backend& backend = pool.backend();
  std::set<int32_t> seen;
  for (int i = 0; i < 40; ++i) {
    const uint64_t before = backend.pool_generation();
    const BufferRange range = pool.Take(kBytes);
    Expect(backend.pool_generation() != before, "an allocation keeps the generation", faults);
    seen.insert(range.buffer.index);
    ExpectOk(pool.Write(range, static_cast<uint8_t>(i)), "write", faults);
    Expect(pool.Holds(range, static_cast<uint8_t>(i)), "a recycled buffer holds its bytes", faults);
    backend.Recycle(range.buffer);
  }
  Expect(seen.size() <= 2, "freed buffers of the same size are not recycled", faults);
  const BufferRange other = pool.Take(2 * kBytes);
  ExpectOk(pool.Write(other, 7), "write", faults);
  Expect(pool.Holds(other, 7), "a buffer of another size holds its bytes", faults);
}

void CheckNoReuseWhileReferenced(const Factory& factory, Faults* faults) {
  PoolUser pool(factory);
  Backend& backend = pool.backend();
  const BufferRange first = pool.Take(kBytes);
  ExpectOk(pool.Write(first, 1), "write", faults);
  std::vector<uint8_t> host(kBytes);
  const StatusOr<std::shared_ptr<Event>> event = backend.Read(first, host.data());
  ExpectOk(event.status(), "read", faults);
  backend.Recycle(first.buffer);
  const BufferRange second = pool.Take(kBytes);
  ExpectOk(pool.Write(second, 2), "write", faults);
  if (event.ok()) ExpectOk((*event)->Wait(), "wait", faults);
  Expect(host == std::vector<uint8_t>(kBytes, 1),
         "a read that was enqueued before a recycle sees later bytes", faults);
  Expect(pool.Holds(second, 2), "the reused buffer holds its bytes", faults);
}

}  // namespace

Faults CheckPool(const Factory& factory) {
  Faults faults;
  PoolUser pool(factory);
  Backend& backend = pool.backend();
  std::vector<BufferRange> ranges;
  std::set<int32_t> ids;
  for (uint8_t i = 0; i < 8; ++i) {
    ranges.push_back(pool.Take(kBytes));
    ids.insert(ranges.back().buffer.index);
    ExpectOk(pool.Write(ranges.back(), i), "write", &faults);
  }
  Expect(ids.size() == ranges.size(), "two live buffers have one id", &faults);
  for (uint8_t i = 0; i < 8; ++i) {
    Expect(pool.Holds(ranges[i], i), "two live buffers share bytes", &faults);
  }
  Expect(backend.AllocationBytes(kBytes) >= kBytes, "fewer bytes are taken than wanted", &faults);
  CheckRecycling(factory, &faults);
  CheckNoReuseWhileReferenced(factory, &faults);
  if (factory.checks_protocol) {
    backend.Recycle(ranges[0].buffer);
    ExpectCode(pool.Write(ranges[0], 1), StatusCode::kInternal, "a recycled id is used", &faults);
  }
  // Scratch is kept at its largest.
  ExpectOk(backend.ReserveScratch(1024), "scratch", &faults);
  const uint64_t generation = backend.pool_generation();
  ExpectOk(backend.ReserveScratch(512), "scratch", &faults);
  Expect(backend.pool_generation() == generation, "less scratch moves the pool", &faults);
  return faults;
}

Faults CheckTransfers(const Factory& factory) {
  Faults faults;
  PoolUser pool(factory);
  Backend& backend = pool.backend();
  const BufferRange a = pool.Take(kBytes);
  const BufferRange b = pool.Take(kBytes);
  {
    std::vector<uint8_t> source(kBytes, 1);
    ExpectOk(backend.Write(a, source.data()), "write", &faults);
    std::fill(source.begin(), source.end(), uint8_t{9});
  }
  ExpectOk(backend.Copy(a, b), "copy", &faults);
  ExpectOk(pool.Write(a, 2), "write", &faults);
  Expect(pool.Holds(b, 1), "a copy sees a later write, or a write its changed source", &faults);
  Expect(pool.Holds(a, 2), "a write is lost", &faults);
  const BufferRange middle{a.buffer, 64, 128};
  ExpectOk(pool.Write(middle, 3), "write", &faults);
  Expect(pool.Holds(middle, 3), "the middle is written", &faults);
  Expect(pool.Holds({a.buffer, 0, 64}, 2), "the bytes before the middle stay", &faults);
  Expect(pool.Holds({a.buffer, 192, 64}, 2), "the bytes after the middle stay", &faults);
  const BufferRange outside{a.buffer, kBytes - 8, 16};
  ExpectCode(pool.Write(outside, 1), StatusCode::kInternal, "a write past the end", &faults);
  ExpectCode(pool.Write({BufferId{}, 0, 8}, 1), StatusCode::kInternal, "a write to no buffer",
             &faults);
  ExpectOk(backend.Synchronize(), "synchronize", &faults);
  return faults;
}

Faults CheckPending(const Factory& factory) {
  Faults faults;
  PoolUser pool(factory);
  Backend& backend = pool.backend();
  const BufferRange a = pool.Take(kBytes);
  ExpectOk(pool.Write(a, 5), "write", &faults);
  std::vector<uint8_t> host(kBytes, 0);
  const StatusOr<std::shared_ptr<Event>> event = backend.Read(a, host.data());
  ExpectOk(event.status(), "read", &faults);
  if (!event.ok()) return faults;
  if (factory.defers) {
    Expect(backend.IsPending(a.buffer), "an unfinished write is not pending", &faults);
    const Status status = backend.HostPointer(a).status();
    ExpectCode(status, StatusCode::kInternal, "a pointer to a pending buffer", &faults);
    Expect(status.name() == backend.name(), "the error does not name the backend", &faults);
    Expect(!(*event)->IsDone(), "an event is done before anybody waited", &faults);
  }
  ExpectOk((*event)->Wait(), "wait", &faults);
  Expect((*event)->IsDone(), "an event is not done after a wait", &faults);
  Expect(host == std::vector<uint8_t>(kBytes, 5), "a read is wrong after its wait", &faults);
  ExpectOk(backend.Synchronize(), "synchronize", &faults);
  Expect(!backend.IsPending(a.buffer), "a buffer is pending after synchronize", &faults);
  const StatusOr<void*> pointer = backend.HostPointer(a);
  ExpectOk(pointer.status(), "pointer", &faults);
  if (pointer.ok()) {
    Expect((*pointer != nullptr) == factory.host_visible, "host visibility is not as declared",
           &faults);
    if (*pointer != nullptr) {
      Expect(*static_cast<uint8_t*>(*pointer) == 5, "the pointer shows other bytes", &faults);
    }
  }
  return faults;
}

}  // namespace minfer::testing
