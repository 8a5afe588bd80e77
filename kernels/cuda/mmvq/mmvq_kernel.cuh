// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The body of MMVQ. A warp computes one row of the matrix for all rows of activations; its lanes
// take units of 32 weights in turn. A unit is loaded once (16 to 36 bytes in registers) and
// multiplied with each row. Bound by the bytes of the weights; the activations come from the L1.
//
// Unit<type>: Load(row, k, u) reads unit u; Dot(quants, heads, u) multiplies it with one row of
// activations, whose int8 values and (scale, sum) pairs the pointers give.
#pragma once

#include <algorithm>

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/mmvq/quantized_row.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kMmvqThreads = 128;
inline constexpr int kMmvqWarps = kMmvqThreads / kWarp;

__device__ __forceinline__ int Dot16(const uint32_t* w, int4 a) {
  int sum = __dp4a(static_cast<int>(w[0]), a.x, 0);
  sum = __dp4a(static_cast<int>(w[1]), a.y, sum);
  sum = __dp4a(static_cast<int>(w[2]), a.z, sum);
  return __dp4a(static_cast<int>(w[3]), a.w, sum);
}

__device__ __forceinline__ int4 Int4At(const void* p) { return *static_cast<const int4*>(p); }

__device__ __forceinline__ void StoreInt4(int4 from, uint32_t* to) {
  to[0] = static_cast<uint32_t>(from.x);
  to[1] = static_cast<uint32_t>(from.y);
  to[2] = static_cast<uint32_t>(from.z);
  to[3] = static_cast<uint32_t>(from.w);
}

template <ElementType type>
struct Unit;

struct MmvqKernelArgs {
  MmvqPart parts[kMmvqMaxParts];
  unsigned first_block[kMmvqMaxParts];  // of each part; without a gate
  int n_parts;
  MmvqGate gate;
  int64_t k;
  int64_t weight_row_bytes;
  const uint8_t* activations;
  int64_t activation_row_bytes;
  int rows;  // of activations
  bool residual;
};

// Sums of row `row` with all rows of activations; complete in every lane.
template <ElementType type, int kRows>
__device__ __forceinline__ void MmvqRow(const MmvqKernelArgs& args, const uint8_t* row,
                                        float* sums) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int m = 0; m < kRows; ++m) sums[m] = 0.0f;
  const int units = static_cast<int>(args.k / 32);
  // Several units in flight where their sums are few.
  constexpr int kUnroll = kRows <= 2 ? 4 : 1;
#pragma unroll kUnroll
  for (int u = lane; u < units; u += kWarp) {
    Unit<type> unit;
    unit.Load(row, args.k, u);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      if (m >= args.rows) break;
      const uint8_t* quants = args.activations + m * args.activation_row_bytes;
      const auto* heads = reinterpret_cast<const float2*>(quants + args.k);
      sums[m] += unit.Dot(reinterpret_cast<const int8_t*>(quants), heads, u);
    }
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m) sums[m] = WarpSum(sums[m]);
}

template <ElementType type, int kRows>
__global__ void __launch_bounds__(kMmvqThreads)
    MmvqKernel(const __grid_constant__ MmvqKernelArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int lane = threadIdx.x % kWarp;
  int p = 0;
  while (p + 1 < args.n_parts && blockIdx.x >= args.first_block[p + 1]) ++p;
  const MmvqPart& part = args.parts[p];
  const int64_t r =
      static_cast<int64_t>(blockIdx.x - args.first_block[p]) * kMmvqWarps + threadIdx.x / kWarp;
  if (r >= part.n) return;
  float sums[kRows];
  MmvqRow<type, kRows>(args, static_cast<const uint8_t*>(part.weights) + r * args.weight_row_bytes,
                       sums);
  if (lane != 0) return;
  const int step = args.residual ? 2 : 1;
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    if (m >= args.rows || m % step != 0) continue;
    float value = sums[m];
    if (args.residual && m + 1 < kRows) value += sums[m + 1];
    if (part.bias != nullptr) value += part.bias[r];
    part.out[m / step * part.out_stride + r] = value;
  }
}

// A warp takes a row of the gate and the same row of up.
template <ElementType type, int kRows>
__global__ void __launch_bounds__(kMmvqThreads)
    MmvqGatedKernel(const __grid_constant__ MmvqKernelArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kMmvqWarps + threadIdx.x / kWarp;
  const MmvqPart& up = args.parts[1];
  if (r >= up.n) return;
  const int64_t at = r * args.weight_row_bytes;
  float gates[kRows];
  float sums[kRows];
  MmvqRow<type, kRows>(args, static_cast<const uint8_t*>(args.parts[0].weights) + at, gates);
  MmvqRow<type, kRows>(args, static_cast<const uint8_t*>(up.weights) + at, sums);
  if (threadIdx.x % kWarp != 0) return;
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    if (m >= args.rows) continue;
    const float act = args.gate == MmvqGate::kSilu ? Silu(gates[m]) : GeluTanh(gates[m]);
    up.out[m * up.out_stride + r] = act * sums[m];
  }
}

template <ElementType type, int kRows>
KernelStatus LaunchMmvqRows(MmvqKernelArgs* args, KernelStream stream) {
  const bool gated = args->gate != MmvqGate::kNone;
  int64_t grid = 0;
  for (int p = 0; p < args->n_parts; ++p) {
    if (gated && p == 1) break;
    args->first_block[p] = static_cast<unsigned>(grid);
    grid += CeilDiv(args->parts[p].n, kMmvqWarps);
  }
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  if (grid == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid)), dim3(kMmvqThreads)};
  return gated ? Launch(MmvqGatedKernel<type, kRows>, shape, stream, *args)
               : Launch(MmvqKernel<type, kRows>, shape, stream, *args);
}

template <ElementType type>
KernelStatus LaunchMmvq(MmvqKernelArgs* args, KernelStream stream) {
  if (args->rows == 1) return LaunchMmvqRows<type, 1>(args, stream);
  if (args->rows == 2) return LaunchMmvqRows<type, 2>(args, stream);
  if (args->rows <= 4) return LaunchMmvqRows<type, 4>(args, stream);
  return LaunchMmvqRows<type, 8>(args, stream);
}

// In groups of at most eight rows of activations.
template <ElementType type>
KernelStatus RunMmvq(const MmvqArgs& args, int64_t weight_row_bytes, int64_t block,
                     KernelStream stream) {
  if (args.k % block != 0) return KernelStatus::kBadShape;
  const int per_row = args.residual ? 2 : 1;
  const int64_t row_bytes = QuantizedRowBytes(args.k);
  const int64_t group = kMmvqMaxRows / per_row;
  for (int64_t first = 0; first < args.m; first += group) {
    MmvqKernelArgs kernel = {};
    kernel.n_parts = args.n_parts;
    kernel.gate = args.gate;
    kernel.k = args.k;
    kernel.weight_row_bytes = weight_row_bytes;
    kernel.activations =
        static_cast<const uint8_t*>(args.activations) + first * per_row * row_bytes;
    kernel.activation_row_bytes = row_bytes;
    kernel.rows = static_cast<int>(std::min(group, args.m - first)) * per_row;
    kernel.residual = args.residual;
    for (int p = 0; p < args.n_parts; ++p) {
      kernel.parts[p] = args.parts[p];
      if (kernel.parts[p].out != nullptr) {
        kernel.parts[p].out += first * kernel.parts[p].out_stride;
      }
    }
    const KernelStatus status = LaunchMmvq<type>(&kernel, stream);
    if (status != KernelStatus::kOk) return status;
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::cuda
