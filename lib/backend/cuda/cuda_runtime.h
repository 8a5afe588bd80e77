// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One CUDA device as the backend's parts share it: where the driver was found, what the device is,
// and whether it still answers.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/tier_table.h"
#include "base/status.h"
#include "kernels/cuda/common/shared_opt_ins.h"

namespace minfer {

// Opens the driver library where its usual name or places have it. False where there is none: then
// no call into CUDA is made.
bool OpenCudaDriver();

// What a failed call means to the caller. `sticky`: every later call on the device fails too.
struct CudaErrorClass {
  StatusCode code;
  bool sticky;
};
CudaErrorClass ClassifyCudaError(cudaError_t error);

class CudaRuntime {
 public:
  // UNAVAILABLE where the device does not answer, UNIMPLEMENTED where it is too old or the build
  // has no code for it.
  static StatusOr<std::shared_ptr<CudaRuntime>> Create(int ordinal);

  int ordinal() const { return ordinal_; }
  int capability() const { return capability_; }
  // What the device's code was compiled for; lower where a build leaves the device out and it runs
  // the intermediate form of another.
  int code_capability() const { return code_capability_; }
  // The row of that code, with no more shared memory than the device has.
  const CudaTier& tier() const { return tier_; }
  const std::string& name() const { return name_; }
  uint64_t memory_total() const { return memory_total_; }
  int processors() const { return processors_; }

  // The longest that anything waits for the device: longer than any step takes.
  std::chrono::milliseconds wait_limit() const { return wait_limit_; }
  void set_wait_limit(std::chrono::milliseconds limit) { wait_limit_ = limit; }

  // The context that everything here works in; its device must be current.
  CUcontext PrimaryContext() const {
    CUcontext current = nullptr;
    get_current_(&current);
    return current;
  }

  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // What its kernels were let have, for all contexts of the device.
  kernels::cuda::SharedOptIns* opt_ins() const { return &opt_ins_; }

  uint64_t latched_errors() const { return latched_.load(std::memory_order_relaxed); }

  // The status of a failed call. An error after which the device takes no more work marks it lost.
  Status Error(cudaError_t error, std::string_view what) const;
  // OK for cudaSuccess.
  Status Check(cudaError_t error, std::string_view what) const {
    return error == cudaSuccess ? OkStatus() : Error(error, what);
  }
  // An error that an earlier asynchronous call left behind: counted, reported as such, and taken.
  Status TakeLatched() const;

 private:
  friend class CudaDeviceScope;

  CudaRuntime() = default;

  int ordinal_ = 0;
  int capability_ = 0;
  int code_capability_ = 0;
  CudaTier tier_ = {};
  std::string name_;
  uint64_t memory_total_ = 0;
  int processors_ = 0;
  std::chrono::milliseconds wait_limit_{120'000};
  decltype(&cuCtxGetCurrent) get_current_ = nullptr;
  decltype(&cuCtxSetCurrent) set_current_ = nullptr;
  mutable kernels::cuda::SharedOptIns opt_ins_;
  mutable std::atomic<bool> lost_{false};
  mutable std::atomic<uint64_t> latched_{0};
};

// Makes the device current for this thread, and at its end what was current before: the host may
// use CUDA itself.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(const CudaRuntime& runtime);
  ~CudaDeviceScope();
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;

 private:
  const CudaRuntime& runtime_;
  CUcontext before_ = nullptr;
};

}  // namespace minfer
