// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One launch of the streamed MMVQ for parts of several types, as Q, K and V of mixed files are:
// another launch would cost more than the few rows of V take. A block has items of one type, which
// it multiplies as a launch of that type does; the blocks are shared out by bytes. A kernel has the
// code of a list of types, those that files mix, and a block finds its type by its number.
#pragma once

#include <numeric>
#include <utility>

#include "kernels/cuda/mmvq/mmvq_stream.cuh"

namespace minfer::kernels::cuda {

// What each type of a list is given; one without parts has no blocks.
template <int kTypes>
struct MixedArgs {
  StreamArgs of_type[kTypes];
  int end[kTypes];  // one past the last block of a type
};

// A bound on the registers: one row keeps to 96, so that a multiprocessor holds two blocks of ten
// warps, as an item of Q6_K and 2,560 columns has.
template <bool kMany>
inline constexpr int kMixedThreads = kWarp*(kMany ? kStreamBlockWarps : 2 * kStreamItemWarps);

template <int kPlace, ElementType type, typename Sums, StreamInput kInput, int kTypes>
__device__ __forceinline__ bool RunMixed(const MixedArgs<kTypes>& args) {
  const auto block = static_cast<int>(blockIdx.x);
  if (block >= args.end[kPlace]) return false;
  int first = 0;
  if constexpr (kPlace > 0) first = args.end[kPlace - 1];
  StreamItems<type, Sums, false, kInput>(args.of_type[kPlace], block - first,
                                         args.end[kPlace] - first);
  return true;
}

// kMany: up to eight rows of activations, otherwise one.
template <bool kMany, StreamInput kInput, ElementType... types>
__global__ void __launch_bounds__(kMixedThreads<kMany>, 1)
    MixedKernel(const __grid_constant__ MixedArgs<sizeof...(types)> args) {
  [&]<size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    (RunMixed<static_cast<int>(kPlaces), types,
              std::conditional_t<kMany, ManyRows<types, 1>, OneRow<types, 1>>, kInput>(args) ||
     ...);
  }
  (std::index_sequence_for<std::integral_constant<ElementType, types>...>());
}

// How a launch of several types is cut.
template <int kTypes>
struct MixedShape {
  StreamShape of_type[kTypes];
  int block_warps = 1;
  int shared_bytes = 0;
};

// Blocks as wide as the widest item, or as two where there is work for them; each type has as many
// items in a block as fit. One item a group where the device holds all blocks at once, otherwise
// blocks by the bytes that they read.
template <bool kMany, StreamInput kInput, ElementType... types>
MixedShape<sizeof...(types)> FindMixedShape(const MixedArgs<sizeof...(types)>& args,
                                            const StreamLimits& limits) {
  constexpr int kTypes = sizeof...(types);
  constexpr int kStageOf[] = {kStageBytes<types>...};
  constexpr int kBlocksOf[] = {StreamTile<types>::kStageValues / 32 ...};
  MixedShape<kTypes> shape;
  int widest = 1;
  int64_t warps = 0;
  int64_t bytes[kTypes] = {};
  for (int t = 0; t < kTypes; ++t) {
    const StreamArgs& of = args.of_type[t];
    if (of.items == 0) continue;
    shape.of_type[t].warps = StreamWarps(of.stages);
    widest = std::max(widest, shape.of_type[t].warps);
    warps += int64_t{of.items} * shape.of_type[t].warps;
    bytes[t] = of.items * of.weight_row_bytes;
  }
  const auto spread = static_cast<int>(CeilDiv(warps, int64_t{widest} * limits.processors));
  shape.block_warps = widest * std::clamp(spread, 1, std::max(kStreamWarps / 2 / widest, 1));
  const int wanted = std::max((kStreamWarps + shape.block_warps / 2) / shape.block_warps, 1);
  const int64_t most = int64_t{wanted} * limits.processors;
  int64_t needed = 0;
  for (int t = 0; t < kTypes; ++t) {
    StreamShape& of = shape.of_type[t];
    of.groups = shape.block_warps / of.warps;
    of.blocks = static_cast<int>(CeilDiv(args.of_type[t].items, of.groups));
    needed += of.blocks;
  }
  const int64_t all_bytes = std::accumulate(bytes, bytes + kTypes, int64_t{0});
  int rounds[kTypes] = {};
  for (int t = 0; t < kTypes; ++t) {
    StreamShape& of = shape.of_type[t];
    if (of.blocks == 0) continue;
    if (needed > most) {
      of.blocks = static_cast<int>(
          std::clamp<int64_t>(most * bytes[t] / std::max<int64_t>(all_bytes, 1), 1, of.blocks));
    }
    rounds[t] = static_cast<int>(CeilDiv(args.of_type[t].items, int64_t{of.blocks} * of.groups) *
                                 CeilDiv(args.of_type[t].stages, of.warps));
  }
  for (int slots = kStreamSlots<!kMany>; slots > 0; --slots) {
    shape.shared_bytes = 0;
    for (int t = 0; t < kTypes; ++t) {
      StreamShape& of = shape.of_type[t];
      if (of.blocks == 0) continue;
      of.slots = std::min(rounds[t], slots);
      of.buffers = kMany ? 2 : of.warps;
      constexpr int kColumns = kMany ? 8 : 1;
      int floats = of.groups * of.buffers * of.warps * kColumns * kStreamRows;
      if (kInput == StreamInput::kCopied) {
        floats += args.of_type[t].stages * kBlocksOf[t] * kColumns * kInterleavedBytes / 4;
      }
      of.shared_bytes =
          of.groups * of.warps * of.slots * kStageOf[t] + floats * static_cast<int>(sizeof(float));
      shape.shared_bytes = std::max(shape.shared_bytes, of.shared_bytes);
    }
    // A kilobyte of each block is the system's.
    if (limits.shared_per_processor / (shape.shared_bytes + 1024) >= wanted) break;
  }
  return shape;
}

template <bool kMany, StreamInput kInput, ElementType... types>
KernelStatus LaunchMixed(MixedArgs<sizeof...(types)> args, KernelStream stream) {
  StreamLimits limits;
  if (!FindStreamLimits(&limits)) return KernelStatus::kDeviceError;
  const auto shape = FindMixedShape<kMany, kInput, types...>(args, limits);
  if (shape.shared_bytes > limits.shared_per_block) return KernelStatus::kBadShape;
  int blocks = 0;
  for (size_t t = 0; t < sizeof...(types); ++t) {
    SetShape(shape.of_type[t], &args.of_type[t]);
    blocks += shape.of_type[t].blocks;
    args.end[t] = blocks;
  }
  const auto kernel = MixedKernel<kMany, kInput, types...>;
  const KernelStatus status = AllowSharedBytes(kernel, shape.shared_bytes, stream);
  if (status != KernelStatus::kOk) return status;
  return Launch(
      kernel,
      {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(shape.block_warps * kWarp)),
       static_cast<size_t>(shape.shared_bytes)},
      stream, args);
}

// part_types: of each part, all in the list.
template <ElementType... types>
KernelStatus RunMixedTypes(const MmvqArgs& args, const ElementType* part_types,
                           KernelStream stream) {
  constexpr ElementType kList[] = {types...};
  MixedArgs<sizeof...(types)> to = {{StartStream<types>(args)...}, {}};
  int stages = 0;
  int items = 0;
  for (int p = 0; p < args.n_parts; ++p) {
    const ElementType* found = std::find(std::begin(kList), std::end(kList), part_types[p]);
    if (found == std::end(kList)) return KernelStatus::kUnsupportedType;
    StreamArgs& of = to.of_type[found - kList];
    if (!AddPart(args.parts[p], &of)) return KernelStatus::kBadShape;
    items += of.items;
    stages = stages == 0 ? of.stages : std::min(stages, of.stages);
  }
  if (items == 0) return KernelStatus::kOk;
  if (args.m == 1) return LaunchMixed<false, StreamInput::kGlobal, types...>(to, stream);
  // As alone, blocks copy the activations where the warps of most items keep to one stage.
  if (stages <= kStreamItemWarps) {
    const KernelStatus status = LaunchMixed<true, StreamInput::kCopied, types...>(to, stream);
    if (status != KernelStatus::kBadShape) return status;
  }
  return LaunchMixed<true, StreamInput::kGlobal, types...>(to, stream);
}

}  // namespace minfer::kernels::cuda
