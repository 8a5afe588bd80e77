// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/half_gemm/half_gemm.h"

#include "kernels/cuda/half_gemm/half_gemm_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kReduceThreads = 256;

// Adds the sums over the parts of k, in their order; a thread has eight columns, or eight of a gate
// and eight of up.
__global__ void __launch_bounds__(kReduceThreads)
    ReduceKernel(const __grid_constant__ HalfGemmArgs args, int splits) {
  const bool gated = args.gate != HalfGemmGate::kNone;
  const int64_t stride = PartialStride(args.columns);
  const int width = gated ? 16 : 8;
  const int64_t groups = (stride + width - 1) / width * 4;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  const int64_t row = blockIdx.y;
  if (i >= groups) return;
  const int64_t column = i / 4 * width + i % 4 * 2;
  const float* from = static_cast<const float*>(args.partials) + row * stride + column;
  float2 sum = *reinterpret_cast<const float2*>(from);
  float2 up = gated ? *reinterpret_cast<const float2*>(from + 8) : sum;
  for (int s = 1; s < splits; ++s) {
    from += args.m * stride;
    const float2 more = *reinterpret_cast<const float2*>(from);
    sum.x += more.x;
    sum.y += more.y;
    if (!gated) continue;
    const float2 more_up = *reinterpret_cast<const float2*>(from + 8);
    up.x += more_up.x;
    up.y += more_up.y;
  }
  if (gated) {
    FinishColumns(args, row, GatedColumn(column), GateValue(args.gate, sum.x, up.x),
                  GateValue(args.gate, sum.y, up.y));
  } else {
    FinishColumns(args, row, column, sum.x, sum.y);
  }
}

template <typename Tile>
KernelStatus LaunchTile(const HalfGemmArgs& args, int splits, KernelStream stream) {
  const int64_t grid_x = CeilDiv(args.m, Tile::kRows);
  const int64_t grid_y = CeilDiv(args.columns, Tile::kColumns);
  if (grid_x > kMaxGridX || grid_y > kMaxGridYz) return KernelStatus::kBadShape;
  const int64_t steps = CeilDiv(args.k, kHalfDepth);
  const int64_t k_each = CeilDiv(steps, splits) * kHalfDepth;
  const KernelStatus opted = AllowSharedBytes(HalfGemmKernel<Tile>, Tile::kSharedBytes, stream);
  if (opted != KernelStatus::kOk) return opted;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y),
                               static_cast<unsigned>(CeilDiv(args.k, k_each))),
                          dim3(Tile::kThreads), Tile::kSharedBytes};
  return Launch(HalfGemmKernel<Tile>, shape, stream, args, k_each);
}

}  // namespace

uint64_t HalfGemmPartialBytes(int64_t m, int64_t columns) {
  return std::min(kHalfPartialBytes,
                  static_cast<uint64_t>(kHalfMaxSplits * m * PartialStride(columns)) * 4);
}

bool PrefersHopperGemm(const HalfGemmArgs& args) {
  return PlanHalfGemm(args.m, args.columns, args.k, args.multiprocessors, args.shared_opt_in_bytes,
                      args.partial_bytes, true, true)
             .family == HalfFamily::kHopper;
}

KernelStatus CheckHalfGemm(const HalfGemmArgs& args) {
  if (args.m < 0 || args.columns < 0 || args.k <= 0 || args.k % 8 != 0 || args.w_stride < args.k ||
      args.w_stride % 8 != 0 || args.n_parts < 1 || args.n_parts > kHalfGemmMaxParts ||
      args.m > kMaxGridYz || args.columns > INT32_MAX / 2 || args.k > INT32_MAX / 2) {
    return KernelStatus::kBadShape;
  }
  if (args.gate != HalfGemmGate::kNone && (args.n_parts != 1 || args.columns % 16 != 0)) {
    return KernelStatus::kBadShape;
  }
  for (int p = 0; p < args.n_parts; ++p) {
    if (args.parts[p].n < 0 || args.parts[p].first % 8 != 0) return KernelStatus::kBadShape;
  }
  return KernelStatus::kOk;
}

KernelStatus ReduceHalfGemm(const HalfGemmArgs& args, int splits, KernelStream stream) {
  const int width = args.gate == HalfGemmGate::kNone ? 8 : 16;
  const int64_t grid_x = CeilDiv(CeilDiv(PartialStride(args.columns), width) * 4, kReduceThreads);
  return Launch(
      ReduceKernel,
      {dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(args.m)), dim3(kReduceThreads)},
      stream, args, splits);
}

KernelStatus HalfGemm(const HalfGemmArgs& args, KernelStream stream) {
  const KernelStatus checked = CheckHalfGemm(args);
  if (checked != KernelStatus::kOk) return checked;
  if (args.m == 0 || args.columns == 0) return KernelStatus::kOk;
  const HalfPlan plan = PlanHalfGemm(args.m, args.columns, args.k, args.multiprocessors,
                                     args.shared_opt_in_bytes, args.partial_bytes, true, false);
  const KernelStatus status = plan.family == HalfFamily::kWide
                                  ? LaunchTile<HalfTileWide>(args, plan.splits, stream)
                                  : LaunchTile<HalfTileSquare>(args, plan.splits, stream);
  if (status != KernelStatus::kOk || plan.splits == 1) return status;
  const int64_t k_each = CeilDiv(CeilDiv(args.k, kHalfDepth), plan.splits) * kHalfDepth;
  return ReduceHalfGemm(args, static_cast<int>(CeilDiv(args.k, k_each)), stream);
}

}  // namespace minfer::kernels::cuda
