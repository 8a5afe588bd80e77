// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/hopper_gemm/hopper_gemm.h"

#include "kernels/cuda/hopper_gemm/hopper_gemm_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// Rows of k halves, box rows at once; what lies outside reads as zero.
bool DescribeRows(EncodeTiled encode, const void* rows, int64_t count, int64_t k, int64_t stride,
                  int box, CUtensorMap* map) {
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(count)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(stride) * 2};
  const cuuint32_t boxes[2] = {kHalfDepth, static_cast<cuuint32_t>(box)};
  const cuuint32_t steps[2] = {1, 1};
  return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(rows), sizes, strides,
                boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

bool HasHopperGemm() { return true; }

KernelStatus HopperGemm(const HalfGemmArgs& args, KernelStream stream) {
  const KernelStatus checked = CheckHalfGemm(args);
  if (checked != KernelStatus::kOk) return checked;
  if (args.m == 0 || args.columns == 0) return KernelStatus::kOk;
  if (reinterpret_cast<uintptr_t>(args.x) % 16 != 0 ||
      reinterpret_cast<uintptr_t>(args.w) % 16 != 0) {
    return KernelStatus::kBadAlignment;
  }
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                       &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    return KernelStatus::kDeviceError;
  }
  const auto encode = reinterpret_cast<EncodeTiled>(entry);
  CUtensorMap x;
  CUtensorMap w;
  if (!DescribeRows(encode, args.x, args.m, args.k, args.k, kHopperRows, &x) ||
      !DescribeRows(encode, args.w, args.columns, args.k, args.w_stride, kHopperColumns, &w)) {
    return KernelStatus::kBadShape;
  }
  const HalfPlan plan = PlanHalfGemm(args.m, args.columns, args.k, args.multiprocessors,
                                     args.shared_opt_in_bytes, args.partial_bytes, false, true);
  HopperGrid grid;
  grid.tiles_m = static_cast<int>(CeilDiv(args.m, kHopperRows));
  grid.tiles_n = static_cast<int>(CeilDiv(args.columns, kHopperColumns));
  grid.steps = static_cast<int>(CeilDiv(args.k, kHalfDepth));
  grid.steps_each = static_cast<int>(CeilDiv(grid.steps, plan.splits));
  grid.splits = static_cast<int>(CeilDiv(grid.steps, grid.steps_each));
  const int pieces = grid.tiles_m * grid.tiles_n * grid.splits;
  KernelStatus status = AllowSharedBytes(HopperGemmKernel, kHopperSharedBytes, stream);
  if (status != KernelStatus::kOk) return status;
  const LaunchShape shape{
      dim3(static_cast<unsigned>(std::min(pieces, std::max(1, args.multiprocessors)))),
      dim3(kHopperThreads), kHopperSharedBytes};
  status = Launch(HopperGemmKernel, shape, stream, args, x, w, grid);
  return status != KernelStatus::kOk || grid.splits == 1
             ? status
             : ReduceHalfGemm(args, grid.splits, stream);
}

}  // namespace minfer::kernels::cuda
