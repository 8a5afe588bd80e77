// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmq/quantize_part.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// Eight lanes a block of 32 values. `residual_bytes`: from a row to what it leaves out, or 0. Rows
// from `rows` on, up to whole tiles of eight, are zeros.
__global__ void __launch_bounds__(kThreads)
    QuantizeTilesKernel(const float* x, int64_t rows, int64_t k, int64_t units,
                        int64_t residual_bytes, uint8_t* out) {
  const int64_t row = blockIdx.y;
  const int64_t block =
      static_cast<int64_t>(blockIdx.x) * (kThreads / kMmqLanes) + threadIdx.x / kMmqLanes;
  const int part = threadIdx.x % kMmqLanes;
  // Whole warps stay for the reductions; blocks past the last unit are not written.
  const bool stays = block < units * 8;
  const int64_t at = block * 32 + part * 4;
  float values[4] = {};
  if (row < rows && at < k) {
    const float4 v = *reinterpret_cast<const float4*>(x + row * k + at);
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
    values[3] = v.w;
  }
  if (!__any_sync(0xffffffffu, stays)) return;
  uint8_t* unit = out + (row / 8 * units + block / 8) * kMmqUnitBytes;
  // units * 8 is a multiple of the four blocks of a warp, so that a warp stays or goes whole.
  QuantizeMmqPart(values, static_cast<int>(row % 8), static_cast<int>(block % 8), part, unit);
  if (residual_bytes == 0) return;
  QuantizeMmqPart(values, static_cast<int>(row % 8), static_cast<int>(block % 8), part,
                  unit + residual_bytes);
}

}  // namespace

int64_t MmqActivationBytes(int64_t m, int64_t k, bool residual) {
  return CeilDiv(m, 8) * CeilDiv(k, kMmqUnit) * kMmqUnitBytes * (residual ? 2 : 1);
}

KernelStatus QuantizeTiles(const float* x, int64_t m, int64_t k, bool residual, void* out,
                           cudaStream_t stream) {
  if (m < 0 || k <= 0 || k % 32 != 0 || m > kMaxGridYz - 7) return KernelStatus::kBadShape;
  if (reinterpret_cast<uintptr_t>(x) % 16 != 0) return KernelStatus::kBadAlignment;
  if (m == 0) return KernelStatus::kOk;
  const int64_t units = CeilDiv(k, kMmqUnit);
  const int64_t grid = CeilDiv(units * 8, kThreads / kMmqLanes);
  return Launch(
      QuantizeTilesKernel,
      {dim3(static_cast<unsigned>(grid), static_cast<unsigned>(CeilDiv(m, 8) * 8)), dim3(kThreads)},
      stream, x, m, k, units, residual ? MmqActivationBytes(m, k, false) : int64_t{0},
      static_cast<uint8_t*>(out));
}

}  // namespace minfer::kernels::cuda
