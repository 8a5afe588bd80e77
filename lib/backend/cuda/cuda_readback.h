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
  static constexpr uint64_t kFaultBytes = 256;
  static constexpr uint64_t kReadBytes = kBytes - kFaultBytes;

  // Pinned memory that it takes: not staged, the fault word alone.
  static constexpr uint64_t PinnedBytes(bool staged) { return staged ? kBytes : kFaultBytes; }

  CudaReadback(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory,
               bool staged);
  ~CudaReadback();
  CudaReadback(const CudaReadback&) = delete;
  CudaReadback& operator=(const CudaReadback&) = delete;

  bool pinned() const;
  uint64_t reads() const { return reads_; }
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
  uint64_t room_ = 0;  // of the pinned memory, for reads
  uint64_t used_ = 0;
  uint64_t reads_ = 0;
};

}  // namespace minfer
