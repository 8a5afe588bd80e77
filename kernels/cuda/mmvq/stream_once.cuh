// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Launch of the streamed MMVQ of small matrices (stream_once_kernel.cuh).
#pragma once

#include <algorithm>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/mmvq/stream_limits.h"
#include "kernels/cuda/mmvq/stream_once_kernel.cuh"

namespace minfer::kernels::cuda {

// Rounds of blocks that a launch may have.
inline constexpr int kOnceRounds = 2;

template <ElementType type, int kEights>
int OnceSharedBytes(const StreamArgs& args, const OnceShape& shape) {
  constexpr int kColumns = 8 * kEights;
  const int blocks = shape.stages * StreamTile<type>::kStageValues / 32;
  const int floats = args.stages * kClasses * kColumns * kStreamRows;
  return shape.stages * kStageBytes<type> + blocks * kColumns * kInterleavedBytes +
         floats * static_cast<int>(sizeof(float));
}

// As many warps a stage as there is room for; two blocks an item where there are many stages.
inline OnceShape FindOnceShape(const StreamArgs& args, const StreamLimits& limits, bool clusters) {
  OnceShape shape;
  const bool shares =
      clusters && 2 * args.items <= limits.processors && args.stages * kClasses > kOnceWarps;
  shape.ranks = shares ? 2 : 1;
  shape.stages = (args.stages + shape.ranks - 1) / shape.ranks;
  shape.sharers = kClasses;
  while (shape.sharers > 1 && shape.stages * shape.sharers > kOnceWarps) shape.sharers /= 2;
  return shape;
}

// kBadShape: the matrix is not small.
template <ElementType type, int kEights>
KernelStatus LaunchOnce(const StreamArgs& args, KernelStream stream) {
  StreamLimits limits;
  if (!FindStreamLimits(&limits)) return KernelStatus::kDeviceError;
  if (args.stages > kStreamItemWarps) return KernelStatus::kBadShape;
  const auto kernel = StreamOnceKernel<type, kEights>;
  const OnceShape shape =
      FindOnceShape(args, limits, HasClusters(reinterpret_cast<const void*>(kernel), limits));
  const int blocks = args.items * shape.ranks;
  const int warps = shape.stages * shape.sharers;
  const int bytes = OnceSharedBytes<type, kEights>(args, shape);
  const int results = kStreamRows * 8 * kEights / shape.ranks;
  if (blocks > kOnceRounds * limits.processors || warps > kOnceWarps ||
      bytes > limits.shared_per_block || results > warps * kWarp) {
    return KernelStatus::kBadShape;
  }
  const KernelStatus status = AllowSharedBytes(kernel, bytes, stream);
  if (status != KernelStatus::kOk) return status;
  const LaunchShape launch{dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(warps * kWarp)), static_cast<size_t>(bytes),
                           static_cast<unsigned>(shape.ranks)};
  return Launch(kernel, launch, stream, args, shape);
}

}  // namespace minfer::kernels::cuda
