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
  // For a recorded delivery, always at the same place.
  static constexpr uint64_t kRecordedBytes = 48u << 10;

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
  // Pinned memory that a kernel writes, and marks that it sets when it has; no memory where there
  // is no room.
  struct Delivery {
    uint8_t* staged = nullptr;
    uint32_t* marks = nullptr;
    int64_t n_marks = 0;
    uint64_t work = 0;  // the number of the work that sets them, once enqueued
    uint64_t last = 0;  // and of the last copy behind it
  };
  // FinishAll brings the bytes to `host`; their work has been waited for by then.
  Delivery Expect(void* host, uint64_t bytes, int64_t n_marks);
  // Where a kernel that is recorded delivers; no memory where it has no room.
  Delivery RecordedPlace(uint64_t bytes, int64_t n_marks) const;
  // Its marks are cleared before it is launched again, and what it brings is expected.
  static void Clear(const Delivery& delivery);
  void Expect(const Delivery& delivery, void* host, uint64_t bytes);
  void Enqueued(uint64_t work) { delivery_.work = delivery_.last = work; }
  void Followed(uint64_t work) { delivery_.last = work; }
  // The last one.
  const Delivery& delivery() const { return delivery_; }
  // Completes all reads; their events are done then.
  Status FinishAll();

 private:
  class Pending;
  uint8_t* Room(uint64_t bytes);
  // The pinned memory, which events keep.
  struct Pinned;

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<Pinned> pinned_;
  std::vector<std::shared_ptr<Pending>> pending_;
  Delivery delivery_;
  uint64_t room_ = 0;  // of the pinned memory, for reads
  uint64_t used_ = 0;
  uint64_t reads_ = 0;
};

}  // namespace minfer
