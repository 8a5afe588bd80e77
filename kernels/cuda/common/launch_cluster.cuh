// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Launch of a kernel whose blocks come in clusters along x (from 9.0 on).
#pragma once

#include <utility>

#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {

// As Launch; a cluster of one is none.
template <typename... Parameters, typename... Arguments>
KernelStatus LaunchCluster(void (*kernel)(Parameters...), const LaunchShape& shape,
                           unsigned cluster, KernelStream stream, Arguments&&... arguments) {
  if (cluster == 1) return Launch(kernel, shape, stream, std::forward<Arguments>(arguments)...);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = cluster;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.stream;
  config.attrs = attributes;
  config.numAttrs = stream.early ? 2 : 1;
  const cudaError_t error =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  return error == cudaSuccess ? KernelStatus::kOk : KernelStatus::kDeviceError;
}

}  // namespace minfer::kernels::cuda
