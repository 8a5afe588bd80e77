// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;
// Below this 127 / magnitude would overflow; such a block is taken as zero.
constexpr float kSmallest = 0x1p-119f;

// Quantises the value of a lane with its warp's 32; writes the lane's byte, and lane 0 the scale
// and the sum. Returns what the byte leaves out.
__device__ __forceinline__ float QuantizeLane(float x, int lane, int8_t* quants, float2* head) {
  const float largest = WarpMax(fabsf(x));
  const bool finite = __all_sync(0xffffffffu, isfinite(x));
  const bool zero = !finite || largest < kSmallest;
  const float scale = finite ? (zero ? 0.0f : largest / 127.0f) : __int_as_float(0x7fc00000);
  const int q = zero ? 0 : __float2int_rn(x * (127.0f / largest));
  const int sum = WarpSum(q);
  quants[lane] = static_cast<int8_t>(q);
  if (lane == 0) *head = make_float2(scale, __int_as_float(sum));
  return finite ? x - scale * static_cast<float>(q) : 0.0f;
}

// A warp a block of 32 values.
__global__ void __launch_bounds__(kThreads)
    QuantizeRowsKernel(const float* x, int64_t blocks, int64_t blocks_per_row, int64_t row_bytes,
                       bool residual, uint8_t* out) {
  const int lane = threadIdx.x % kWarp;
  const int64_t block = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (block >= blocks) return;
  const int64_t row = block / blocks_per_row;
  const int64_t b = block % blocks_per_row;
  uint8_t* to = out + (residual ? 2 * row : row) * row_bytes;
  const int64_t heads = blocks_per_row * 32;
  const float rest =
      QuantizeLane(x[block * 32 + lane], lane, reinterpret_cast<int8_t*>(to) + b * 32,
                   reinterpret_cast<float2*>(to + heads) + b);
  if (!residual) return;
  to += row_bytes;
  QuantizeLane(rest, lane, reinterpret_cast<int8_t*>(to) + b * 32,
               reinterpret_cast<float2*>(to + heads) + b);
}

}  // namespace

int64_t QuantizedRowBytes(int64_t k) { return (k / 32 * 40 + 15) / 16 * 16; }

KernelStatus QuantizeRows(const float* x, int64_t m, int64_t k, bool residual, void* out,
                          cudaStream_t stream) {
  if (m < 0 || k <= 0 || k % 32 != 0) return KernelStatus::kBadShape;
  if (m == 0) return KernelStatus::kOk;
  const int64_t blocks = m * (k / 32);
  const int64_t grid = CeilDiv(blocks, kThreads / kWarp);
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  return Launch(QuantizeRowsKernel, {dim3(static_cast<unsigned>(grid)), dim3(kThreads)}, stream, x,
                blocks, k / 32, QuantizedRowBytes(k), residual, static_cast<uint8_t*>(out));
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

KernelStatus Mmvq32(const MmvqArgs& args, cudaStream_t stream);
KernelStatus Mmvq256(const MmvqArgs& args, cudaStream_t stream);

KernelStatus Mmvq(const MmvqArgs& args, cudaStream_t stream) {
  if (args.m < 0 || args.k < 0 || args.m > kMmvqMaxRows || args.n_parts < 0 ||
      args.n_parts > kMmvqMaxParts) {
    return KernelStatus::kBadShape;
  }
  const bool gated = args.gate != MmvqGate::kNone;
  if (gated && (args.n_parts != 2 || args.parts[0].n != args.parts[1].n || args.residual)) {
    return KernelStatus::kBadShape;
  }
  for (int i = 0; i < args.n_parts; ++i) {
    if (args.parts[i].n < 0) return KernelStatus::kBadShape;
  }
  if (args.m == 0) return KernelStatus::kOk;
  switch (args.type) {
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
    case ElementType::kQ6_K:
      return Mmvq256(args, stream);
    default:
      return Mmvq32(args, stream);
  }
}

}  // namespace minfer::kernels::cuda
