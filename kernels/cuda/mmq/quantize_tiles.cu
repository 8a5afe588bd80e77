// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmq/mmq_layout.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kLanes = 8;  // a block of 32 values, four each
// Below this 127 / magnitude would overflow; such a block is taken as zero.
constexpr float kSmallest = 0x1p-119f;

template <typename T>
__device__ __forceinline__ T BlockSum(T x) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, offset);
  }
  return x;
}

// Quantises a lane's four values with its block, writes them to `unit`, and leaves in x what that
// leaves out. row: of the eight; sub: block of the unit's eight; part: of the block's eight.
__device__ __forceinline__ void QuantizePart(float* x, int row, int sub, int part, uint8_t* unit) {
  float largest = 0.0f;
  bool finite = true;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    largest = fmaxf(largest, fabsf(x[v]));
    finite = finite && isfinite(x[v]);
  }
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    finite = __shfl_xor_sync(0xffffffffu, static_cast<int>(finite), offset) != 0 && finite;
  }
  const bool zero = !finite || largest < kSmallest;
  const float scale = finite ? (zero ? 0.0f : largest / 127.0f) : __int_as_float(0x7fc00000);
  const float inverse = 127.0f / largest;
  uint32_t bytes = 0;
  int sum = 0;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int q = zero ? 0 : __float2int_rn(x[v] * inverse);
    bytes |= (static_cast<uint32_t>(q) & 255u) << (8 * v);
    sum += q;
    x[v] = finite ? x[v] - scale * static_cast<float>(q) : 0.0f;
  }
  sum = BlockSum(sum);
  const int lane = row * 4 + part % 4;
  *reinterpret_cast<uint32_t*>(unit + sub / 2 * 512 + lane * 16 + sub % 2 * 8 + part / 4 * 4) =
      bytes;
  if (part == 0) {
    *reinterpret_cast<float*>(unit + kMmqScalesAt + row / 2 * 64 + sub * 8 + row % 2 * 4) = scale;
    *reinterpret_cast<float*>(unit + kMmqSumsAt + (row * 4 + sub % 4) * 8 + sub / 4 * 4) =
        scale * static_cast<float>(sum);
  }
}

// Eight lanes a block of 32 values. `residual_bytes`: from a row to what it leaves out, or 0.
__global__ void __launch_bounds__(kThreads)
    QuantizeTilesKernel(const float* x, int64_t k, int64_t units, int64_t residual_bytes,
                        uint8_t* out) {
  const int64_t row = blockIdx.y;
  const int64_t block =
      static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) + threadIdx.x / kLanes;
  const int part = threadIdx.x % kLanes;
  // Whole warps stay for the reductions; blocks past the last unit are not written.
  const bool stays = block < units * 8;
  const int64_t at = block * 32 + part * 4;
  float values[4] = {};
  if (at < k) {
    const float4 v = *reinterpret_cast<const float4*>(x + row * k + at);
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
    values[3] = v.w;
  }
  if (!__any_sync(0xffffffffu, stays)) return;
  uint8_t* unit = out + (row / 8 * units + block / 8) * kMmqUnitBytes;
  // units * 8 is a multiple of the four blocks of a warp, so that a warp stays or goes whole.
  QuantizePart(values, static_cast<int>(row % 8), static_cast<int>(block % 8), part, unit);
  if (residual_bytes == 0) return;
  QuantizePart(values, static_cast<int>(row % 8), static_cast<int>(block % 8), part,
               unit + residual_bytes);
}

}  // namespace

int64_t MmqActivationBytes(int64_t m, int64_t k, bool residual) {
  return CeilDiv(m, 8) * CeilDiv(k, kMmqUnit) * kMmqUnitBytes * (residual ? 2 : 1);
}

KernelStatus QuantizeTiles(const float* x, int64_t m, int64_t k, bool residual, void* out,
                           cudaStream_t stream) {
  if (m < 0 || k <= 0 || k % 32 != 0 || m > kMaxGridYz) return KernelStatus::kBadShape;
  if (reinterpret_cast<uintptr_t>(x) % 16 != 0) return KernelStatus::kBadAlignment;
  if (m == 0) return KernelStatus::kOk;
  const int64_t units = CeilDiv(k, kMmqUnit);
  const int64_t grid = CeilDiv(units * 8, kThreads / kLanes);
  return Launch(QuantizeTilesKernel,
                {dim3(static_cast<unsigned>(grid), static_cast<unsigned>(m)), dim3(kThreads)},
                stream, x, k, units, residual ? MmqActivationBytes(m, k, false) : int64_t{0},
                static_cast<uint8_t*>(out));
}

}  // namespace minfer::kernels::cuda
