// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/experts/expert_mmq.h"

#include "kernels/cuda/experts/expert_mmq_kernel.cuh"
#include "kernels/cuda/mmq/quantize_part.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kQuantizeThreads = 256;  // a warp a slot of a tile

struct QuantizeKernelArgs {
  QuantizeExpertsArgs given;
  int most_tiles;
  int units;
};

// Notes counts that do not add up or are negative. A warp.
__device__ __forceinline__ void CheckCounts(const ExpertLists& lists, const FaultWord& fault) {
  const int lane = threadIdx.x % kWarp;
  int64_t total = 0;
  bool fits = true;
  for (int e = lane; e < lists.n_experts; e += kWarp) {
    total += lists.counts[e];
    fits = fits && lists.counts[e] >= 0;
  }
  total = WarpSum(total);
  fits = __all_sync(0xffffffffu, fits) != 0 && total == lists.n_slots;
  if (!fits && lane == 0 && fault.word != nullptr) *fault.word = fault.value;
}

// Block y makes a tile, block x one unit of it; slots that the tile does not have are zeros.
__global__ void __launch_bounds__(kQuantizeThreads)
    QuantizeExpertsKernel(const __grid_constant__ QuantizeKernelArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const QuantizeExpertsArgs& given = args.given;
  const ExpertLists& lists = given.lists;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (blockIdx.x == 0 && blockIdx.y == 0 && warp == 0) CheckCounts(lists, given.fault);
  const ExpertPart part = FindPart(lists, 1, static_cast<int>(blockIdx.y), args.most_tiles);
  if (part.expert < 0) return;
  int slot = warp < part.slots ? lists.slots[part.first_slot + warp] : -1;
  if (warp < part.slots && (slot < 0 || slot >= lists.n_slots)) {
    if (lane == 0 && given.fault.word != nullptr) *given.fault.word = given.fault.value;
    slot = -1;
  }
  const int64_t unit = blockIdx.x;
  const float* row = given.x + static_cast<int64_t>(max(slot, 0) / given.fan_out) * given.k;
  uint8_t* to = static_cast<uint8_t*>(given.out) +
                (int64_t{part.first_tile} * args.units + unit) * kMmqUnitBytes;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int sub = 4 * i + lane / kMmqLanes;
    const int64_t at = kMmqUnit * unit + 32 * sub + lane % kMmqLanes * 4;
    float values[4] = {};
    if (slot >= 0 && at < given.k) {
      const float4 v = *reinterpret_cast<const float4*>(row + at);
      values[0] = v.x;
      values[1] = v.y;
      values[2] = v.z;
      values[3] = v.w;
    }
    QuantizeMmqPart(values, warp, sub, lane % kMmqLanes, to);
  }
}

bool ListsFit(const ExpertLists& lists) {
  return lists.n_slots >= 0 && lists.n_slots <= kMaxExpertSlots && lists.n_experts > 0 &&
         lists.n_experts <= kMaxExperts;
}

}  // namespace

uint64_t ExpertTileBytes(int64_t n_slots, int64_t n_experts, int64_t k) {
  return static_cast<uint64_t>(MostExpertParts(n_slots, n_experts, 1) * CeilDiv(k, kMmqUnit)) *
         kMmqUnitBytes;
}

KernelStatus QuantizeExperts(const QuantizeExpertsArgs& args, KernelStream stream) {
  if (!ListsFit(args.lists) || args.k <= 0 || args.k % 32 != 0 || args.fan_out <= 0 ||
      args.lists.n_slots % args.fan_out != 0) {
    return KernelStatus::kBadShape;
  }
  if (reinterpret_cast<uintptr_t>(args.x) % 16 != 0) return KernelStatus::kBadAlignment;
  if (args.lists.n_slots == 0) return KernelStatus::kOk;
  QuantizeKernelArgs kernel;
  kernel.given = args;
  const int64_t tiles = MostExpertParts(args.lists.n_slots, args.lists.n_experts, 1);
  const int64_t units = CeilDiv(args.k, kMmqUnit);
  if (tiles > kMaxGridYz || units > kMaxGridYz) return KernelStatus::kBadShape;
  kernel.most_tiles = static_cast<int>(tiles);
  kernel.units = static_cast<int>(units);
  return Launch(
      QuantizeExpertsKernel,
      {dim3(static_cast<unsigned>(units), static_cast<unsigned>(tiles)), dim3(kQuantizeThreads)},
      stream, kernel);
}

KernelStatus ExpertMmq32(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                         KernelStream stream);
KernelStatus ExpertMmq256(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                          KernelStream stream);

KernelStatus ExpertMmq(const ExpertMmqArgs& args, KernelStream stream) {
  const bool gated = args.gate != MmvqGate::kNone;
  if (!ListsFit(args.lists) || args.n <= 0 || args.k <= 0 || (gated && args.bias != nullptr) ||
      gated != (args.up != nullptr)) {
    return KernelStatus::kBadShape;
  }
  if (!HasMmq(args.type, args.k)) return KernelStatus::kUnsupportedType;
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  // The rows of a block are addressed with 32 bits.
  if (row_bytes >= int64_t{1} << 24) return KernelStatus::kBadShape;
  if (args.lists.n_slots == 0) return KernelStatus::kOk;
  ExpertMmqKernelArgs kernel = {};
  kernel.lists = args.lists;
  kernel.most_tiles =
      static_cast<int>(MostExpertParts(args.lists.n_slots, args.lists.n_experts, 1));
  kernel.weights[0] = static_cast<const uint8_t*>(args.weights);
  kernel.weights[1] = static_cast<const uint8_t*>(args.up);
  kernel.gate = args.gate;
  kernel.bias = args.bias;
  kernel.bias_stride =
      WeightRowBytes(ElementType::kF32, args.n) / static_cast<int64_t>(sizeof(float));
  kernel.n = args.n;
  kernel.k = args.k;
  kernel.weight_row_bytes = static_cast<uint32_t>(row_bytes);
  kernel.units = static_cast<int>(CeilDiv(args.k, kMmqUnit));
  kernel.activations = static_cast<const uint8_t*>(args.activations);
  kernel.out = args.out;
  return FindElementTraits(args.type)->block_elements == 256
             ? ExpertMmq256(args.type, kernel, args.shared_opt_in_bytes, stream)
             : ExpertMmq32(args.type, kernel, args.shared_opt_in_bytes, stream);
}

}  // namespace minfer::kernels::cuda
