// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Launch of the streamed MMVQ: how many warps share an item, and how many blocks a multiprocessor
// holds. The warps follow the columns alone, since the order of sums does.
#pragma once

#include <algorithm>

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq_stream_kernel.cuh"
#include "kernels/cuda/mmvq/stream_limits.h"
#include "kernels/cuda/mmvq/stream_once.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kStreamWarps = 16;  // of a multiprocessor
// Of a warp's ring. One row has fewer, so that blocks of the next kernel fit beside these and fill
// theirs: measured, that is worth more than a deeper ring.
template <bool kOneRow>
inline constexpr int kStreamSlots = kOneRow ? 2 : 3;
// Of a block that takes a norm: enough to make short work of its rows.
inline constexpr int kNormBlockWarps = 8;
inline constexpr int kStreamFewSlots = 2;  // where a multiprocessor has less shared memory

// One stage a warp where ten suffice, otherwise rounds of up to eight that are as even as can be.
inline int StreamWarps(int stages) {
  if (stages <= kStreamItemWarps) return std::max(stages, 1);
  const int rounds = (stages + 7) / 8;
  return (stages + rounds - 1) / rounds;
}

// How a launch is cut.
struct StreamShape {
  int warps = 1;   // that share an item
  int groups = 1;  // of so many in a block
  int block_warps = 1;
  int slots = 1;
  int buffers = 1;  // for the sums of a group
  int blocks = 1;
  int shared_bytes = 0;
};

template <ElementType type, typename Sums, StreamInput kInput>
int StreamSharedBytes(const StreamArgs& args, const StreamShape& shape) {
  const int sums = shape.buffers * shape.warps * Sums::kColumns * kStreamRows;
  int floats = shape.groups * sums;
  if (args.gate != MmvqGate::kNone) floats += kMmvqMaxRows * kPlaneGroup;
  if (kInput == StreamInput::kNormed) floats += Sums::kColumns * kNormWarps;
  if (kInput != StreamInput::kGlobal) {
    floats +=
        args.stages * StreamTile<type>::kStageValues / 32 * Sums::kColumns * kInterleavedBytes / 4;
  }
  return shape.groups * shape.warps * shape.slots * kStageBytes<type> +
         floats * static_cast<int>(sizeof(float));
}

// Blocks of two sevens or eights of warps a multiprocessor where there is work for many rounds;
// otherwise items spread over all multiprocessors, and rings no deeper than what they hold. No
// blocks: not with this input.
template <ElementType type, typename Sums, StreamInput kInput>
StreamShape FindStreamShape(const StreamArgs& args, const StreamLimits& limits) {
  StreamShape shape;
  shape.warps = StreamWarps(args.stages);
  const bool planes = args.planes.out != nullptr;
  const int together = planes ? kPlaneGroup / 8 : std::max(kStreamWarps / 2 / shape.warps, 1);
  const auto spread = static_cast<int>(CeilDiv(args.items, limits.processors));
  shape.groups = planes ? together : std::clamp(spread, 1, together);
  const auto fit = [&](int slots) {
    shape.slots = slots;
    shape.buffers = !Sums::kWarpsFinish ? 2 : planes ? 1 : shape.warps;
    shape.shared_bytes = StreamSharedBytes<type, Sums, kInput>(args, shape);
    return limits.shared_per_processor / (shape.shared_bytes + 1024);
  };
  shape.block_warps = shape.groups * shape.warps;
  if (kInput == StreamInput::kNormed) {
    const auto parts = static_cast<int>(CeilDiv(args.k, kNormColumns));
    shape.block_warps = std::max({shape.block_warps, parts, kNormBlockWarps});
  }
  // A kilobyte of each block is the system's.
  const int wanted = std::max((kStreamWarps + shape.block_warps / 2) / shape.block_warps, 1);
  const int items = limits.processors * wanted * shape.groups;
  const auto rounds =
      static_cast<int>(CeilDiv(args.items, items) * CeilDiv(args.stages, shape.warps));
  int slots = std::min(rounds, kStreamSlots<Sums::kWarpsFinish>);
  if (fit(slots) < wanted) slots = std::min(slots, kStreamFewSlots);
  if (fit(slots) < 1) slots = 1;
  const int blocks = std::min(fit(slots), wanted) * limits.processors;
  shape.blocks = std::min(static_cast<int>(CeilDiv(args.items, shape.groups)), blocks);
  // Warps are worth more than copies of activations.
  const bool many = shape.blocks * shape.groups < args.items;
  if (kInput == StreamInput::kCopied && many && blocks < wanted * limits.processors) {
    shape.blocks = 0;
  }
  return shape;
}

inline void SetShape(const StreamShape& shape, StreamArgs* args) {
  args->warps = shape.warps;
  args->group_of = (256 + shape.warps - 1) / shape.warps;
  args->groups = shape.groups;
  args->slots = shape.slots;
  args->buffers = shape.buffers;
}

template <ElementType type, typename Sums, bool kGated, StreamInput kInput>
KernelStatus LaunchShaped(StreamArgs args, const StreamShape& shape, KernelStream stream) {
  SetShape(shape, &args);
  const auto kernel = StreamKernel<type, Sums, kGated, kInput>;
  const KernelStatus status = AllowSharedBytes(kernel, shape.shared_bytes, stream);
  if (status != KernelStatus::kOk) return status;
  return Launch(kernel,
                {dim3(static_cast<unsigned>(shape.blocks)),
                 dim3(static_cast<unsigned>(shape.block_warps * kWarp)),
                 static_cast<size_t>(shape.shared_bytes)},
                stream, args);
}

template <ElementType type, typename Sums, bool kGated, StreamInput kInput>
KernelStatus LaunchStream(const StreamArgs& args, KernelStream stream) {
  StreamLimits limits;
  if (!FindStreamLimits(&limits)) return KernelStatus::kDeviceError;
  const StreamShape shape = FindStreamShape<type, Sums, kInput>(args, limits);
  if (shape.blocks < 1 || shape.shared_bytes > limits.shared_per_block ||
      shape.block_warps > kStreamBlockWarps) {
    return KernelStatus::kBadShape;
  }
  return LaunchShaped<type, Sums, kGated, kInput>(args, shape, stream);
}

// Each block copies the activations of many rows where its warps keep to one stage each.
template <ElementType type, int kEights, bool kGated>
KernelStatus LaunchMany(const StreamArgs& args, KernelStream stream) {
  using Sums = ManyRows<type, kEights>;
  if constexpr (!kGated && !StreamTile<type>::kSuperBlocks) {
    const KernelStatus status = LaunchOnce<type, kEights>(args, stream);
    if (status != KernelStatus::kBadShape) return status;
  }
  if (args.stages <= kStreamItemWarps) {
    const KernelStatus status =
        LaunchStream<type, Sums, kGated, StreamInput::kCopied>(args, stream);
    if (status != KernelStatus::kBadShape) return status;
  }
  return LaunchStream<type, Sums, kGated, StreamInput::kGlobal>(args, stream);
}

template <ElementType type, bool kGated>
KernelStatus LaunchRows(const StreamArgs& args, KernelStream stream) {
  using One = OneRow<type, 1>;
  using Many = ManyRows<type, 1>;
  if (args.norm.x == nullptr) {
    return args.rows == 1 ? LaunchStream<type, One, kGated, StreamInput::kGlobal>(args, stream)
                          : LaunchMany<type, 1, kGated>(args, stream);
  }
  return args.rows == 1 ? LaunchStream<type, One, kGated, StreamInput::kNormed>(args, stream)
                        : LaunchStream<type, Many, kGated, StreamInput::kNormed>(args, stream);
}

// What a launch is given but the parts, of which it counts the items.
template <ElementType type>
StreamArgs StartStream(const MmvqArgs& args) {
  StreamArgs to = {};
  to.stages = static_cast<int>(CeilDiv(args.k, StreamTile<type>::kStageValues));
  to.gate = args.gate;
  to.blocks = static_cast<int>(args.k / 32);
  to.k = args.k;
  to.weight_row_bytes = WeightRowBytes(type, args.k);
  to.activations = static_cast<const uint8_t*>(args.activations);
  to.activation_row_bytes = QuantizedRowBytes(args.k);
  to.rows = static_cast<int>(args.m) * (args.residual ? 2 : 1);
  to.residual = args.residual;
  to.norm = args.norm;
  to.planes = args.planes;
  return to;
}

inline bool AddPart(const MmvqPart& part, StreamArgs* to) {
  if (part.n > 0x7fffffff / 2) return false;
  to->parts[to->n_parts] = part;
  to->first_item[to->n_parts++] = to->items;
  to->items += static_cast<int>(CeilDiv(part.n, kStreamRows));
  return true;
}

template <ElementType type>
KernelStatus RunStream(const MmvqArgs& args, KernelStream stream) {
  StreamArgs to = StartStream<type>(args);
  const bool gated = args.gate != MmvqGate::kNone;
  for (int p = 0; p < args.n_parts; ++p) {
    if (!AddPart(args.parts[p], &to)) return KernelStatus::kBadShape;
  }
  if (gated) to.items = static_cast<int>(CeilDiv(args.parts[0].n, kStreamRows / 2));
  if (to.items == 0) return KernelStatus::kOk;
  if (gated) return LaunchRows<type, true>(to, stream);
  if (to.rows == 2 && args.m == 1) {
    return LaunchStream<type, OneRow<type, 2>, false, StreamInput::kGlobal>(to, stream);
  }
  if (to.rows > 8) return LaunchMany<type, 2, false>(to, stream);
  return LaunchRows<type, false>(to, stream);
}

}  // namespace minfer::kernels::cuda
