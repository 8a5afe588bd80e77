// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A block computes kRows rows of x times kColumns rows of w, 64 of k a stage. All threads copy
// (cp.async, 16 bytes each) and all multiply: a warp owns kWarpRows x kWarpColumns results.
//
//   stage     rows of x, then rows of w, 128 bytes each; piece c of row r lies at c ^ (r % 8)
//   ring      kStages of them; a stage is refilled right after the barrier that ends its reading
//   results   at the end in the place of the ring, so that whole lines are stored
//   fragments two sets in registers, the next k step's loaded while this one's is multiplied
//
// Rows outside of the matrices are read from their last row and never stored; k is filled up with
// zeros. Bound by the tensor cores, with the shared memory close behind.
#pragma once

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/arch/ldmatrix.cuh"
#include "kernels/cuda/arch/mma_m16n8k16.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/half_gemm/half_gemm_config.h"

namespace minfer::kernels::cuda {

// Two neighbouring columns of a row, for the output that they belong to. `column` is even.
__device__ __forceinline__ void StoreColumns(const HalfGemmPart& part, int64_t row, int64_t column,
                                             float first, float second) {
  if (column < 0 || column >= part.n) return;
  float* out = part.out + row * part.out_stride + column;
  const bool both = column + 1 < part.n;
  if (part.bias != nullptr) {
    first += part.bias[column];
    if (both) second += part.bias[column + 1];
  }
  if (both && reinterpret_cast<uintptr_t>(out) % 8 == 0) {
    *reinterpret_cast<float2*>(out) = make_float2(first, second);
    return;
  }
  out[0] = first;
  if (both) out[1] = second;
}

// Sums of row `row`, columns `column` and the next of the product.
__device__ __forceinline__ void FinishColumns(const HalfGemmArgs& args, int64_t row, int64_t column,
                                              float first, float second) {
#pragma unroll
  for (int p = 0; p < kHalfGemmMaxParts; ++p) {
    if (p >= args.n_parts) return;
    StoreColumns(args.parts[p], row, column - args.parts[p].first, first, second);
  }
}

__device__ __forceinline__ float GateValue(HalfGemmGate gate, float g, float up) {
  return (gate == HalfGemmGate::kSilu ? Silu(g) : GeluTanh(g)) * up;
}

// The column of the result that column `column` of interleaved gates stands for.
__device__ __forceinline__ int64_t GatedColumn(int64_t column) {
  return column / 16 * 8 + column % 8;
}

template <typename Tile>
struct HalfCopier {
  static constexpr int kRowsAtOnce = Tile::kThreads / 8;
  static constexpr int kXSteps = Tile::kRows / kRowsAtOnce;
  static constexpr int kWSteps = Tile::kColumns / kRowsAtOnce;

  const int4* x;
  const int4* w;
  uint32_t from[kXSteps + kWSteps];  // pieces of 16 bytes from there
  uint32_t to;                       // bytes into a stage
  int column;                        // of the thread's piece within a stage
  int64_t k;

  __device__ HalfCopier(const HalfGemmArgs& args, int64_t m0, int64_t n0)
      : x(static_cast<const int4*>(args.x)), w(static_cast<const int4*>(args.w)), k(args.k) {
    const int row = threadIdx.x / 8;
    const int piece = threadIdx.x % 8;
    column = piece * 8;
    to = static_cast<uint32_t>(row * 128 + ((piece ^ (row & 7)) << 4));
#pragma unroll
    for (int i = 0; i < kXSteps; ++i) {
      const int64_t r = min(m0 + row + i * kRowsAtOnce, args.m - 1);
      from[i] = static_cast<uint32_t>(r * (args.k / 8));
    }
#pragma unroll
    for (int i = 0; i < kWSteps; ++i) {
      const int64_t r = min(n0 + row + i * kRowsAtOnce, args.columns - 1);
      from[kXSteps + i] = static_cast<uint32_t>(r * (args.w_stride / 8));
    }
  }

  // Third `part` of the stage whose k begins at `at`.
  __device__ __forceinline__ void Copy(uint8_t* stage, int64_t at, int part) const {
    const bool inside = at + column < k;
    // Outside, an address that is valid anyway; it is not read.
    const auto piece = static_cast<uint32_t>(inside ? (at + column) / 8 : 0);
#pragma unroll
    for (int i = 0; i < kXSteps + kWSteps; ++i) {
      if (i % 3 != part) continue;
      CpAsync16(stage + to + i * kRowsAtOnce * 128, (i < kXSteps ? x : w) + (from[i] + piece),
                inside);
    }
  }
};

template <typename Tile>
struct HalfFragments {
  uint32_t x[Tile::kWarpRows / 16][4];
  uint32_t w[Tile::kWarpColumns / 8][2];
};

// Fragments of k step `step` (16 of k) of a stage. x_at, w_at: the lane's bytes into the stage.
template <typename Tile>
__device__ __forceinline__ void LoadFragments(const uint8_t* stage, uint32_t x_at, uint32_t w_at,
                                              int step, HalfFragments<Tile>* to) {
#pragma unroll
  for (int i = 0; i < Tile::kWarpRows / 16; ++i) {
    LdMatrix4(stage + ((x_at ^ (step * 32)) + i * 16 * 128), to->x[i]);
  }
#pragma unroll
  for (int j = 0; j < Tile::kWarpColumns / 8; j += 2) {
    LdMatrix4(stage + ((w_at ^ (step * 32)) + j * 8 * 128), to->w[j]);
  }
}

// The warp's results, which begin at row `m` and column `n`, from shared memory to where they
// belong, two columns a lane.
template <typename Tile>
__device__ __forceinline__ void StoreSums(const HalfGemmArgs& args, const float* sums, int64_t m,
                                          int64_t n, int split) {
  static_assert(Tile::kWarpColumns == 64);
  const int lane = threadIdx.x % kWarp;
  const bool gated = args.gate != HalfGemmGate::kNone && split < 0;
  const int rows_at_once = gated ? 2 : 1;
  const int in_row = gated ? lane % 16 : lane;
  const int64_t column = n + (gated ? in_row / 4 * 16 + in_row % 4 * 2 : 2 * in_row);
  const int at = static_cast<int>(column - n);
#pragma unroll 4
  for (int r = gated ? lane / 16 : 0; r < Tile::kWarpRows; r += rows_at_once) {
    const int64_t row = m + r;
    if (row >= args.m) return;
    const float2 sum = *reinterpret_cast<const float2*>(sums + Tile::At(r, at));
    if (split >= 0) {
      if (column >= args.columns) continue;
      float* out = static_cast<float*>(args.partials) +
                   (split * args.m + row) * PartialStride(args.columns) + column;
      *reinterpret_cast<float2*>(out) = sum;
    } else if (gated) {
      const float2 up = *reinterpret_cast<const float2*>(sums + Tile::At(r, at + 8));
      FinishColumns(args, row, GatedColumn(column), GateValue(args.gate, sum.x, up.x),
                    GateValue(args.gate, sum.y, up.y));
    } else {
      FinishColumns(args, row, column, sum.x, sum.y);
    }
  }
}

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    HalfGemmKernel(const __grid_constant__ HalfGemmArgs args, int64_t k_each) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int kTilesM = Tile::kWarpRows / 16;
  constexpr int kTilesN = Tile::kWarpColumns / 8;
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * Tile::kRows;
  const int64_t n0 = static_cast<int64_t>(blockIdx.y) * Tile::kColumns;
  const int64_t k_begin = blockIdx.z * k_each;
  const int64_t k_end = min(k_begin + k_each, args.k);
  const int steps = static_cast<int>((k_end - k_begin + kHalfDepth - 1) / kHalfDepth);
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int m = warp / Tile::kWarpsN * Tile::kWarpRows;
  const int n = warp % Tile::kWarpsN * Tile::kWarpColumns;
  const HalfCopier<Tile> copier(args, m0, n0);
  // Lanes 0..15 give the rows of the left half of a 16 x 16 tile of x, 16..31 of the right half; of
  // w, lanes 0..7 and 8..15 the two halves of eight columns, 16..31 those of the next eight.
  const auto x_at =
      static_cast<uint32_t>((m + lane % 16) * 128 + (((lane / 16) ^ (lane & 7)) << 4));
  const auto w_at = static_cast<uint32_t>((Tile::kRows + n + lane / 16 * 8 + lane % 8) * 128 +
                                          (((lane / 8 % 2) ^ (lane & 7)) << 4));
  float sums[kTilesM][kTilesN][4] = {};
#pragma unroll
  for (int s = 0; s < Tile::kStages - 1; ++s) {
    if (s < steps) {
#pragma unroll
      for (int part = 0; part < 3; ++part) {
        copier.Copy(shared + s * Tile::kStageBytes, k_begin + s * kHalfDepth, part);
      }
    }
    CpAsyncCommit();
  }
  CpAsyncWait<Tile::kStages - 2>();
  __syncthreads();
  HalfFragments<Tile> fragments[2];
  LoadFragments<Tile>(shared, x_at, w_at, 0, &fragments[0]);
  int reading = 0;
  int filling = Tile::kStages - 1;
  for (int s = 0; s < steps; ++s) {
    const uint8_t* stage = shared + reading * Tile::kStageBytes;
    reading = reading + 1 == Tile::kStages ? 0 : reading + 1;
    const uint8_t* next = shared + reading * Tile::kStageBytes;
#pragma unroll
    for (int step = 0; step < kHalfDepth / 16; ++step) {
      constexpr int kLast = kHalfDepth / 16 - 1;
      if (step == kLast) {
        CpAsyncWait<Tile::kStages - 2>();
        __syncthreads();
      }
      // After the last stage this reads what nobody uses.
      LoadFragments<Tile>(step == kLast ? next : stage, x_at, w_at, (step + 1) % (kLast + 1),
                          &fragments[(step + 1) % 2]);
      if (step != kLast && s + Tile::kStages - 1 < steps) {
        copier.Copy(shared + filling * Tile::kStageBytes,
                    k_begin + static_cast<int64_t>(s + Tile::kStages - 1) * kHalfDepth, step);
      }
      if (step == kLast - 1) CpAsyncCommit();
      const HalfFragments<Tile>& now = fragments[step % 2];
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) MmaM16N8K16(now.x[i], now.w[j], sums[i][j]);
      }
    }
    filling = filling + 1 == Tile::kStages ? 0 : filling + 1;
  }
  __syncthreads();
  auto* warp_sums = reinterpret_cast<float*>(shared) + warp * Tile::kWarpRows * Tile::kSumPitch;
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
      float* to = warp_sums + (16 * i + lane / 4) * Tile::kSumPitch + 8 * j + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
      to += 8 * Tile::kSumPitch;
      *reinterpret_cast<float2*>(to) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
  __syncwarp();
  StoreSums<Tile>(args, warp_sums, m0 + m, n0 + n,
                  gridDim.z > 1 ? static_cast<int>(blockIdx.z) : -1);
}

// In half_gemm.cu, for every family that computes such products: whether the sizes are right, and
// the sum of the parts of k.
KernelStatus CheckHalfGemm(const HalfGemmArgs& args);
KernelStatus ReduceHalfGemm(const HalfGemmArgs& args, int splits, KernelStream stream);

}  // namespace minfer::kernels::cuda
