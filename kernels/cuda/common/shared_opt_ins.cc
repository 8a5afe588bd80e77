// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/shared_opt_ins.h"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace minfer::kernels::cuda {

KernelStatus AskForSharedBytes(const void* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ==
                 cudaSuccess
             ? KernelStatus::kOk
             : KernelStatus::kDeviceError;
}

KernelStatus SharedOptIns::Allow(const void* kernel, int bytes, bool recording) {
  if (bytes <= kPlainSharedBytes) return KernelStatus::kOk;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [kernel](const Entry& entry) { return entry.kernel == kernel; });
  if (found != entries_.end() && found->bytes >= bytes) return KernelStatus::kOk;
  if (recording) return KernelStatus::kDeviceError;
  if (found == entries_.end()) found = entries_.insert(entries_.end(), {kernel, 0});
  ++asked_;
  const KernelStatus status = AskForSharedBytes(kernel, bytes);
  if (status == KernelStatus::kOk) found->bytes = bytes;
  return status;
}

uint64_t SharedOptIns::asked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

}  // namespace minfer::kernels::cuda
