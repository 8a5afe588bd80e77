// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Device memory on its way to the host: through pinned memory while there is room, so that a read
// only enqueues, and otherwise straight into the caller's memory.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/cuda_stream.h"
#include "backend/event.h"
#include "base/host_memory.h"

namespace minfer {

class CudaReadback {
 public:
  static constexpr uint64_t kBytes = 4u << 20;
  static constexpr uint64_t kReadBytes = kBytes - 256;  // the rest is for the fault word

  CudaReadback(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory);
  ~CudaReadback();
  CudaReadback(const CudaReadback&) = delete;
  CudaReadback& operator=(const CudaReadback&) = delete;

  bool pinned() const;
  // A word of the pinned memory that kernels write when data does not fit; nullptr where pinned
  // memory was refused.
  int32_t* fault_word() const;

  StatusOr<std::shared_ptr<Event>> Read(const void* from, void* host, uint64_t bytes,
                                        cudaStream_t stream);
  // Completes all reads; their events are done then.
  Status FinishAll();

 private:
  class Pending;
  // The pinned memory, which events keep.
  struct Pinned;

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<Pinned> pinned_;
  std::vector<std::shared_ptr<Pending>> pending_;
  uint64_t used_ = 0;
};

}  // namespace minfer
