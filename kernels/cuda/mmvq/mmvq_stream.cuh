// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Launch of the streamed MMVQ: how many warps share an item, and how many blocks a multiprocessor
// holds. The warps follow the columns alone, since the order of sums does.
#pragma once

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq_stream_kernel.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kStreamWarps = 16;  // of a multiprocessor
inline constexpr int kStreamSlots = 3;
inline constexpr int kStreamFewSlots = 2;  // where a multiprocessor has less shared memory

struct StreamLimits {
  int processors = 0;
  int shared_per_block = 0;
  int shared_per_processor = 0;
};

inline bool FindStreamLimits(StreamLimits* limits) {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&limits->processors, cudaDevAttrMultiProcessorCount, device) ==
             cudaSuccess &&
         cudaDeviceGetAttribute(&limits->shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                device) == cudaSuccess &&
         cudaDeviceGetAttribute(&limits->shared_per_processor,
                                cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) == cudaSuccess;
}

// One stage a warp where eight suffice, otherwise rounds of up to seven that are as even as can be.
inline int StreamWarps(int stages) {
  if (stages <= kStreamMaxWarps) return std::max(stages, 1);
  const int rounds = (stages + 6) / 7;
  return (stages + rounds - 1) / rounds;
}

template <ElementType type, typename Sums, bool kGated>
KernelStatus LaunchStream(const StreamArgs& args, KernelStream stream) {
  StreamLimits limits;
  if (!FindStreamLimits(&limits)) return KernelStatus::kDeviceError;
  const auto bytes = [&](int warps, int slots) {
    const int buffers = Sums::kWarpsFinish ? warps : 2;
    return warps * (slots * kStageBytes<type> +
                    buffers * Sums::kColumns * kStreamRows * static_cast<int>(sizeof(float)));
  };
  int warps = StreamWarps(args.stages);
  while (warps > 1 && bytes(warps, kStreamFewSlots) > limits.shared_per_block) --warps;
  // Blocks of two sevens or eights of warps; a kilobyte of each block is the system's.
  const int wanted = std::max(kStreamWarps / warps, 1);
  const bool many = wanted * (bytes(warps, kStreamSlots) + 1024) <= limits.shared_per_processor;
  const int shared = bytes(warps, many ? kStreamSlots : kStreamFewSlots);
  if (shared > limits.shared_per_block) return KernelStatus::kBadShape;
  const int blocks = std::clamp(limits.shared_per_processor / (shared + 1024), 1, wanted);
  const auto kernel = many ? StreamKernel<type, Sums, kGated, kStreamSlots>
                           : StreamKernel<type, Sums, kGated, kStreamFewSlots>;
  const KernelStatus allowed = AllowSharedBytes(kernel, shared, stream);
  if (allowed != KernelStatus::kOk) return allowed;
  const LaunchShape shape{
      dim3(static_cast<unsigned>(std::min(args.items, limits.processors * blocks))),
      dim3(static_cast<unsigned>(warps * kWarp)), static_cast<size_t>(shared)};
  return Launch(kernel, shape, stream, args);
}

template <ElementType type>
KernelStatus RunStream(const MmvqArgs& args, KernelStream stream) {
  StreamArgs to = {};
  const bool gated = args.gate != MmvqGate::kNone;
  for (int p = 0; p < args.n_parts; ++p) {
    if (args.parts[p].n > 0x7fffffff / 2) return KernelStatus::kBadShape;
    to.parts[p] = args.parts[p];
    to.first_item[p] = to.items;
    to.items += static_cast<int>(CeilDiv(args.parts[p].n, kStreamRows));
  }
  if (gated) to.items = static_cast<int>(CeilDiv(args.parts[0].n, kStreamRows / 2));
  if (to.items == 0) return KernelStatus::kOk;
  to.n_parts = args.n_parts;
  to.stages = static_cast<int>(CeilDiv(args.k, StreamTile<type>::kStageValues));
  to.gate = args.gate;
  to.k = args.k;
  to.weight_row_bytes = WeightRowBytes(args.type, args.k);
  to.activations = static_cast<const uint8_t*>(args.activations);
  to.activation_row_bytes = QuantizedRowBytes(args.k);
  to.rows = static_cast<int>(args.m) * (args.residual ? 2 : 1);
  to.residual = args.residual;
  if (gated) {
    return to.rows == 1 ? LaunchStream<type, OneRow<type, 1>, true>(to, stream)
                        : LaunchStream<type, ManyRows<type, 1>, true>(to, stream);
  }
  if (to.rows == 1) return LaunchStream<type, OneRow<type, 1>, false>(to, stream);
  if (args.m == 1) return LaunchStream<type, OneRow<type, 2>, false>(to, stream);
  if (to.rows <= 8) return LaunchStream<type, ManyRows<type, 1>, false>(to, stream);
  return LaunchStream<type, ManyRows<type, 2>, false>(to, stream);
}

}  // namespace minfer::kernels::cuda
