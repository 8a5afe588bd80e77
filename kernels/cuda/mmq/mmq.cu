// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/mmq/mmq.h"

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmq/mmq_copy.h"
#include "kernels/cuda/mmq/mmq_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kReduceThreads = 256;

// Blocks that a large device runs at once, and the units of k that a block needs for its ring to be
// worth filling.
constexpr int64_t kWantedBlocks = 132;
constexpr int64_t kUnitsEach = 3;

// Adds the parts of k of part blockIdx.z, in their order; a thread a result.
__global__ void __launch_bounds__(kReduceThreads)
    ReduceMmqKernel(const __grid_constant__ MmqKernelArgs args) {
  const bool gated = args.gate != MmvqGate::kNone;
  const int p = gated ? 1 : static_cast<int>(blockIdx.z);
  const MmvqPart& part = args.parts[p];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  const int64_t column = blockIdx.y;
  if (args.splits[p] == 1 || row >= part.n) return;
  float value = 0.0f;
  float gate = 0.0f;
  for (int s = 0; s < args.splits[p]; ++s) {
    const int64_t at = (s * args.rows + column) * part.n + row;
    value = s == 0 ? args.partials[p][at] : value + args.partials[p][at];
    if (gated) gate = s == 0 ? args.partials[0][at] : gate + args.partials[0][at];
  }
  if (gated) {
    value = MmqGated(args.gate, gate, value);
  } else if (part.bias != nullptr) {
    value += part.bias[row];
  }
  part.out[column * part.out_stride + row] = value;
}

// Parts of k for a matrix: of its shape alone, so that it gives the same bits in every company.
int SplitsOf(int64_t n, int64_t units) {
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(n, kMmqRows));
  return static_cast<int>(
      std::max<int64_t>(1, std::min(kWantedBlocks / blocks, units / kUnitsEach)));
}

}  // namespace

bool HasMmq(ElementType type, int64_t k) {
  switch (type) {
    case ElementType::kQ4_0:
    case ElementType::kQ4_1:
    case ElementType::kQ8_0:
      return k % 32 == 0;
    case ElementType::kQ5_0:
    case ElementType::kQ5_1:
      // So that the plane of scales starts at a multiple of 16 bytes.
      return k % 128 == 0;
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
    case ElementType::kQ6_K:
      return k % 256 == 0;
    default:
      return false;
  }
}

uint64_t MmqPartialBytes(int64_t m, int64_t n, int64_t k) {
  const int splits = SplitsOf(n, CeilDiv(k, kMmqUnit));
  return splits == 1 ? 0 : static_cast<uint64_t>(splits * m * n) * sizeof(float);
}

KernelStatus ReduceMmq(const MmqKernelArgs& args, KernelStream stream) {
  int64_t widest = 0;
  for (int p = 0; p < args.n_parts; ++p) widest = std::max(widest, args.parts[p].n);
  const bool gated = args.gate != MmvqGate::kNone;
  const dim3 grid(static_cast<unsigned>(CeilDiv(widest, kReduceThreads)),
                  static_cast<unsigned>(args.rows),
                  static_cast<unsigned>(gated ? 1 : args.n_parts));
  return Launch(ReduceMmqKernel, {grid, dim3(kReduceThreads)}, stream, args);
}

KernelStatus Mmq32(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                   KernelStream stream);
KernelStatus Mmq256(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                    KernelStream stream);

KernelStatus MmqFromCopy(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                         KernelStream stream);

KernelStatus Mmq(const MmvqArgs& args, const MmqScratch& scratch, KernelStream stream) {
  if (args.m < 0 || args.m > kMmqMaxRows || args.k <= 0 || args.n_parts < 0 ||
      args.n_parts > kMmvqMaxParts) {
    return KernelStatus::kBadShape;
  }
  if (!HasMmq(args.type, args.k)) return KernelStatus::kUnsupportedType;
  const bool gated = args.gate != MmvqGate::kNone;
  if (gated && (args.n_parts != 2 || args.parts[0].n != args.parts[1].n)) {
    return KernelStatus::kBadShape;
  }
  const int64_t row_bytes =
      scratch.copies ? MmqCopyRowBytes(args.type, args.k) : WeightRowBytes(args.type, args.k);
  if (row_bytes == 0) return KernelStatus::kUnsupportedType;
  // The rows of a block are addressed with 32 bits.
  if (row_bytes >= int64_t{1} << 24) return KernelStatus::kBadShape;
  MmqKernelArgs kernel = {};
  uint64_t used = 0;
  for (int p = 0; p < args.n_parts; ++p) {
    const MmvqPart& part = args.parts[p];
    if (part.n < 0) return KernelStatus::kBadShape;
    kernel.parts[p] = part;
    kernel.splits[p] = SplitsOf(part.n, CeilDiv(args.k, kMmqUnit));
    kernel.partials[p] = reinterpret_cast<float*>(static_cast<uint8_t*>(scratch.partials) + used);
    used += MmqPartialBytes(args.m, part.n, args.k);
  }
  if (used > scratch.partial_bytes) return KernelStatus::kBadShape;
  if (args.m == 0) return KernelStatus::kOk;
  kernel.n_parts = args.n_parts;
  kernel.gate = args.gate;
  kernel.k = args.k;
  kernel.weight_row_bytes = static_cast<uint32_t>(row_bytes);
  kernel.activations = static_cast<const uint8_t*>(args.activations);
  kernel.units = static_cast<int>(CeilDiv(args.k, kMmqUnit));
  kernel.rows = static_cast<int>(args.m);
  kernel.passes = args.residual ? 2 : 1;
  kernel.pass_bytes = MmqActivationBytes(args.m, args.k, false);
  if (scratch.copies) return MmqFromCopy(args.type, kernel, scratch, stream);
  return FindElementTraits(args.type)->block_elements == 256
             ? Mmq256(args.type, kernel, scratch, stream)
             : Mmq32(args.type, kernel, scratch, stream);
}

}  // namespace minfer::kernels::cuda
