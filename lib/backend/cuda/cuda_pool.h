// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Device memory by exact size. A freed buffer waits for the next request of its size and class, and
// goes back to the driver with the pool. Every request bumps the generation, because captured steps
// hold addresses.
#pragma once

#include <memory>
#include <vector>

#include "backend/buffer.h"
#include "backend/cuda/cuda_runtime.h"
#include "base/host_memory.h"
#include "base/memory_class.h"

namespace minfer {

class CudaPool {
 public:
  // memory: whose account counts the bytes.
  CudaPool(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory)
      : runtime_(std::move(runtime)), memory_(std::move(memory)) {}
  ~CudaPool();
  CudaPool(const CudaPool&) = delete;
  CudaPool& operator=(const CudaPool&) = delete;

  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class);
  // Never a recycled buffer, whose old reader may still be enqueued elsewhere.
  StatusOr<BufferId> AllocateFresh(uint64_t bytes, MemoryClass memory_class);
  void Recycle(BufferId buffer);
  uint64_t generation() const { return generation_; }

  // INTERNAL for a range that lies in no buffer in use.
  StatusOr<uint8_t*> Resolve(const BufferRange& range) const;
  // The number of the last enqueued work that writes the buffer.
  void SetWriter(BufferId buffer, uint64_t work);
  uint64_t writer(BufferId buffer) const;

 private:
  struct Slot {
    uint8_t* data = nullptr;
    uint64_t bytes = 0;
    MemoryClass memory_class = MemoryClass::kActivations;
    bool free = false;
    uint64_t writer = 0;
  };

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<HostMemory> memory_;
  std::vector<Slot> slots_;
  uint64_t generation_ = 0;
};

}  // namespace minfer
