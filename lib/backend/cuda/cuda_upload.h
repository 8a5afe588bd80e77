// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Host memory on its way to the device: a ring of pinned slots, so that a write returns as soon as
// its bytes are copied and the transfer runs in the stream. Where pinned memory is refused, writes
// come straight from the caller's memory, more slowly.
#pragma once

#include <array>
#include <memory>

#include "backend/cuda/cuda_stream.h"
#include "base/host_memory.h"

namespace minfer {

class CudaUploadRing {
 public:
  static constexpr size_t kSlots = 8;
  static constexpr uint64_t kSlotBytes = 2u << 20;
  // Behind the slots, at the same place for the ring's life, so that recorded kernels find it: the
  // inputs of a step.
  static constexpr uint64_t kInputBytes = 64u << 10;
  static constexpr uint64_t kBytes = kSlots * kSlotBytes + kInputBytes;

  // Does not fail: pinned() tells whether there is a ring.
  static std::unique_ptr<CudaUploadRing> Create(std::shared_ptr<const CudaRuntime> runtime,
                                                std::shared_ptr<HostMemory> memory);
  ~CudaUploadRing();
  CudaUploadRing(const CudaUploadRing&) = delete;
  CudaUploadRing& operator=(const CudaUploadRing&) = delete;

  bool pinned() const { return base_ != nullptr; }
  uint8_t* inputs() const { return base_ + kSlots * kSlotBytes; }

  // Copies `bytes` of host memory to `to`; the caller's memory is free when it returns.
  Status Write(void* to, const void* from, uint64_t bytes, cudaStream_t stream);

  // Pinned room of at most kSlotBytes to fill by hand, followed by Send of what was filled in.
  // nullptr where there is no ring.
  StatusOr<uint8_t*> Room(uint64_t bytes, cudaStream_t stream);
  Status Send(void* to, const uint8_t* room, uint64_t bytes, cudaStream_t stream);

 private:
  CudaUploadRing(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory);

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<HostMemory> memory_;
  uint8_t* base_ = nullptr;
  std::array<std::unique_ptr<CudaEvent>, kSlots> events_;
  size_t slot_ = 0;
  uint64_t used_ = 0;  // bytes of the current slot
};

}  // namespace minfer
