// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one door for kernel launches, and the few numbers that every launcher needs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/common/shared_opt_ins.h"

namespace minfer::kernels::cuda {

inline constexpr int kWarp = 32;
// Blocks along x that a launch may have.
inline constexpr int64_t kMaxGridX = 0x7fffffff;
inline constexpr int64_t kMaxGridYz = 65535;

inline int64_t CeilDiv(int64_t n, int64_t by) { return (n + by - 1) / by; }

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  unsigned cluster = 1;  // blocks along x that form one; more than one only from 9.0 on
};

// Lets a kernel's blocks ask for more than the 48 KB of shared memory that every block may have.
template <typename Kernel>
KernelStatus AllowSharedBytes(Kernel* kernel, int bytes, KernelStream stream) {
  const void* which = reinterpret_cast<const void*>(kernel);
  return stream.opt_ins != nullptr ? stream.opt_ins->Allow(which, bytes, stream.recorded)
                                   : AskForSharedBytes(which, bytes);
}

// Enqueues the kernel; kDeviceError when the launch was refused, with the reason in
// cudaGetLastError. A kernel given an early stream waits by itself (arch/griddepcontrol.cuh).
template <typename... Parameters, typename... Arguments>
KernelStatus Launch(void (*kernel)(Parameters...), const LaunchShape& shape, KernelStream stream,
                    Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  unsigned n_attributes = 0;
  if (stream.early) {
    cudaLaunchAttribute& early = attributes[n_attributes++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[n_attributes++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = shape.cluster;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.stream;
  config.attrs = attributes;
  config.numAttrs = n_attributes;
  const cudaError_t error =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  return error == cudaSuccess ? KernelStatus::kOk : KernelStatus::kDeviceError;
}

}  // namespace minfer::kernels::cuda
