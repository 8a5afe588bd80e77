// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the current device has for a launch of the streamed MMVQ.
#pragma once

#include <cuda_runtime_api.h>

namespace minfer::kernels::cuda {

struct StreamLimits {
  int processors = 0;
  int shared_per_block = 0;
  int shared_per_processor = 0;
  int clusters = 0;  // whether there are any
};

inline bool FindStreamLimits(StreamLimits* limits) {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&limits->processors, cudaDevAttrMultiProcessorCount, device) ==
             cudaSuccess &&
         cudaDeviceGetAttribute(&limits->shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                device) == cudaSuccess &&
         cudaDeviceGetAttribute(&limits->shared_per_processor,
                                cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                device) == cudaSuccess &&
         cudaDeviceGetAttribute(&limits->clusters, cudaDevAttrClusterLaunch, device) == cudaSuccess;
}

// Whether the device has clusters and the code that it runs was compiled for one that does.
inline bool HasClusters(const void* kernel, const StreamLimits& limits) {
  cudaFuncAttributes attributes = {};
  return limits.clusters != 0 && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
         attributes.ptxVersion >= 90;
}

}  // namespace minfer::kernels::cuda
