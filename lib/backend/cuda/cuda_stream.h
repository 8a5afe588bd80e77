// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A stream of our own that no other stream waits for, and events in it. Waits end: with the error
// of the work, or with DEADLINE_EXCEEDED.
#pragma once

#include <memory>

#include "backend/cuda/cuda_runtime.h"

namespace minfer {

class CudaEvent {
 public:
  explicit CudaEvent(std::shared_ptr<const CudaRuntime> runtime) : runtime_(std::move(runtime)) {}
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // Marks the end of what the stream holds now; a later Record replaces the mark.
  Status Record(cudaStream_t stream);
  // What the stream is given from now on waits for the mark.
  Status MakeWait(cudaStream_t stream) const;
  // True when nothing was recorded, or all before the mark is done or has failed.
  bool IsDone() const;
  Status Wait() const;

 private:
  std::shared_ptr<const CudaRuntime> runtime_;
  cudaEvent_t event_ = nullptr;
};

class CudaStream {
 public:
  static StatusOr<std::unique_ptr<CudaStream>> Create(std::shared_ptr<const CudaRuntime> runtime);
  // Waits for the work, so that nothing it uses goes away under it.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t get() const { return stream_; }
  // Waits for all enqueued work.
  Status Synchronize();
  // LookForMarks; false also where the stream's work has failed.
  bool SeesMarks(uint32_t* marks, int64_t count) const;

 private:
  explicit CudaStream(std::shared_ptr<const CudaRuntime> runtime) : runtime_(std::move(runtime)) {}

  std::shared_ptr<const CudaRuntime> runtime_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace minfer
