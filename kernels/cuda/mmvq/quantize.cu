// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/mmvq/quantized_row.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;
// A warp a block of 32 values of one row, y; rows past the last are zeros.
__global__ void __launch_bounds__(kThreads)
    QuantizeRowsKernel(const float* x, int64_t m, int64_t blocks, PlaneTarget target) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int lane = threadIdx.x % kWarp;
  const int64_t b = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (b >= blocks) return;
  const int64_t row = blockIdx.y;
  const float value = row < m ? x[(row * blocks + b) * 32 + lane] : 0.0f;
  QuantizeToPlanes(target, 32 * blocks, row, b, lane, value);
}

}  // namespace

int64_t QuantizedRowBytes(int64_t k) { return (k / 32 * 40 + 15) / 16 * 16; }

PlaneTarget MakePlaneTarget(void* out, int64_t m, int64_t k, bool residual, bool streamed) {
  PlaneTarget target;
  target.out = out;
  target.row_bytes = QuantizedRowBytes(k);
  target.columns = IsInterleaved(streamed, m) ? InterleavedColumns(m, residual) : 0;
  target.residual = residual;
  return target;
}

KernelStatus QuantizeRows(const float* x, int64_t m, int64_t k, const PlaneTarget& target,
                          KernelStream stream) {
  if (m < 0 || k <= 0 || k % 32 != 0 || target.out == nullptr) return KernelStatus::kBadShape;
  if (m == 0) return KernelStatus::kOk;
  const int64_t grid = CeilDiv(k / 32, kThreads / kWarp);
  const int64_t rows = PlaneRows(target, m);
  if (grid > kMaxGridX || rows > kMaxGridYz || rows < m) return KernelStatus::kBadShape;
  return Launch(QuantizeRowsKernel,
                {dim3(static_cast<unsigned>(grid), static_cast<unsigned>(rows)), dim3(kThreads)},
                stream, x, m, k / 32, target);
}

int64_t QuantizedBytes(int64_t m, int64_t k, bool residual, bool streamed) {
  if (!IsInterleaved(streamed, m)) return m * (residual ? 2 : 1) * QuantizedRowBytes(k);
  return k / 32 * InterleavedColumns(m, residual) * kInterleavedBytes;
}

bool HasMmvq(ElementType type) {
  switch (type) {
    case ElementType::kQ4_0:
    case ElementType::kQ4_1:
    case ElementType::kQ5_0:
    case ElementType::kQ5_1:
    case ElementType::kQ8_0:
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
    case ElementType::kQ6_K:
      return true;
    default:
      return false;
  }
}

bool StreamsMmvq(ElementType type, int64_t k) {
  if (!HasMmvq(type) || k <= 0 || k > 0x3fffffff) return false;
  const bool high_bits = type == ElementType::kQ5_0 || type == ElementType::kQ5_1;
  return k % (high_bits ? 128 : 32) == 0;
}

KernelStatus MmvqStream32(const MmvqArgs& args, KernelStream stream);
KernelStatus MmvqStream256(const MmvqArgs& args, KernelStream stream);
KernelStatus Mmvq32(const MmvqArgs& args, KernelStream stream);
KernelStatus Mmvq256(const MmvqArgs& args, KernelStream stream);
KernelStatus MmvqMixed32(const MmvqArgs& args, const ElementType* types, KernelStream stream);
KernelStatus MmvqMixed256(const MmvqArgs& args, const ElementType* types, KernelStream stream);

namespace {

bool IsSuperBlock(ElementType type) {
  return type == ElementType::kQ4_K || type == ElementType::kQ5_K || type == ElementType::kQ6_K;
}

}  // namespace

KernelStatus Mmvq(const MmvqArgs& args, KernelStream stream) {
  if (args.m < 0 || args.k < 0 || args.m > kMmvqMaxRows || args.n_parts < 0 ||
      args.n_parts > kMmvqMaxParts) {
    return KernelStatus::kBadShape;
  }
  const bool gated = args.gate != MmvqGate::kNone;
  if (gated && (args.n_parts != 2 || args.parts[0].n != args.parts[1].n || args.residual)) {
    return KernelStatus::kBadShape;
  }
  for (int i = 0; i < args.n_parts; ++i) {
    if (args.parts[i].n < 0 || (args.parts[i].add != nullptr && (gated || !args.streamed))) {
      return KernelStatus::kBadShape;
    }
  }
  if (args.norm.x != nullptr &&
      (!args.streamed || args.residual || args.k > kMaxNormedColumns || args.k % 32 != 0 ||
       (reinterpret_cast<uintptr_t>(args.norm.x) | reinterpret_cast<uintptr_t>(args.norm.weight)) %
               16 !=
           0)) {
    return KernelStatus::kBadShape;
  }
  if (args.planes.out != nullptr &&
      (!args.streamed || !gated || args.parts[0].n % 32 != 0 || args.k > kMaxPlaneColumns)) {
    return KernelStatus::kBadShape;
  }
  if (args.m == 0) return KernelStatus::kOk;
  const bool streamed = args.streamed;
  if (streamed && !StreamsMmvq(args.type, args.k)) return KernelStatus::kBadShape;
  switch (args.type) {
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
    case ElementType::kQ6_K:
      if (args.k % 256 != 0) return KernelStatus::kBadShape;
      if (streamed) return MmvqStream256(args, stream);
      return Mmvq256(args, stream);
    default:
      if (streamed) return MmvqStream32(args, stream);
      return Mmvq32(args, stream);
  }
}

// Q8_0 is found beside super-blocks too.
bool MixesMmvq(ElementType a, ElementType b) {
  if (!HasMmvq(a) || !HasMmvq(b)) return false;
  return IsSuperBlock(a) == IsSuperBlock(b) || a == ElementType::kQ8_0 || b == ElementType::kQ8_0;
}

KernelStatus MmvqMixed(const MmvqArgs& args, const ElementType* types, KernelStream stream) {
  if (args.m < 0 || args.m > kMmvqMaxRows || args.n_parts < 0 || args.n_parts > kMmvqMaxParts ||
      !args.streamed || args.residual || args.gate != MmvqGate::kNone || args.norm.x != nullptr ||
      args.planes.out != nullptr) {
    return KernelStatus::kBadShape;
  }
  bool super_blocks = false;
  for (int p = 0; p < args.n_parts; ++p) {
    if (args.parts[p].n < 0 || !StreamsMmvq(types[p], args.k)) return KernelStatus::kBadShape;
    super_blocks = super_blocks || IsSuperBlock(types[p]);
  }
  if (super_blocks && args.k % 256 != 0) return KernelStatus::kBadShape;
  if (args.m == 0) return KernelStatus::kOk;
  return super_blocks ? MmvqMixed256(args, types, stream) : MmvqMixed32(args, types, stream);
}

}  // namespace minfer::kernels::cuda
