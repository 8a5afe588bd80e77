// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/gemm/gemm.h"

#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"

namespace minfer::kernels::cuda {
namespace {

// A block computes kRows rows of x times kColumns rows of weights, kDepth of k at a time, both
// tiles in shared memory as f32 with k outermost; a thread owns kEach x kEach results. The next
// tiles are under way while one is multiplied. Bound by fma, where there are few blocks by latency.
constexpr int kDepth = 32;
constexpr int kVector = 8;  // values that a thread brings of a row
constexpr int kParts = kDepth / kVector;

template <int kTileRows, int kTileColumns, int kTileEach>
struct Tile {
  static constexpr int kRows = kTileRows;
  static constexpr int kColumns = kTileColumns;
  static constexpr int kEach = kTileEach;
  static constexpr int kThreads = kRows / kEach * (kColumns / kEach);
};
using LargeTile = Tile<64, 64, 4>;
// For products with so few results that large tiles leave most multiprocessors idle, as routers of
// experts are. The order of sums is the same.
using SmallTile = Tile<32, 16, 2>;
constexpr int64_t kFewBlocks = 64;

// Rows of a tile on their way to shared memory: thread t brings eight values of row t / kParts, and
// of those so many threads further on.
template <int kRows, int kThreads>
struct TileRows {
  static constexpr int kTasks = kRows * kParts;
  static constexpr int kTurns = (kTasks + kThreads - 1) / kThreads;
  static constexpr int kPitch = kRows + 4;  // keeps alignment and spreads the banks of the stores
  float values[kTurns][kVector] = {};

  template <typename Load>
  __device__ __forceinline__ void Bring(const Load& load) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int task = static_cast<int>(threadIdx.x) + turn * kThreads;
      if (kTasks % kThreads == 0 || task < kTasks) {
        load(task / kParts, task % kParts * kVector, values[turn]);
      }
    }
  }
  __device__ __forceinline__ void Store(float (*tile)[kPitch]) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int task = static_cast<int>(threadIdx.x) + turn * kThreads;
      if (kTasks % kThreads != 0 && task >= kTasks) continue;
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        tile[task % kParts * kVector + v][task / kParts] = values[turn][v];
      }
    }
  }
};

template <int kEach>
__device__ __forceinline__ void LoadEach(const float* from, float* to) {
  if constexpr (kEach == 4) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
  } else {
    *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from);
  }
}

// The products of a tile are summed apart and then added: the error grows with the number of tiles,
// not of values.
template <int kEach, typename Sum, typename Xs, typename Ws>
__device__ __forceinline__ void Multiply(const Xs& xs, const Ws& ws, int x0, int w0,
                                         Sum (*sums)[kEach]) {
  Sum parts[kEach][kEach] = {};
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    alignas(16) float x[kEach];
    alignas(16) float w[kEach];
    LoadEach<kEach>(&xs[d][x0], x);
    LoadEach<kEach>(&ws[d][w0], w);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        parts[i][j] = fma(static_cast<Sum>(x[i]), static_cast<Sum>(w[j]), parts[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) sums[i][j] += parts[i][j];
  }
}

template <ElementType type, typename Sum, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads)
    GemmKernel(GemmArgs args, int64_t weight_row_bytes) {
  constexpr int kEach = Shape::kEach;
  using XRows = TileRows<Shape::kRows, Shape::kThreads>;
  using WeightRows = TileRows<Shape::kColumns, Shape::kThreads>;
  alignas(16) __shared__ float xs[kDepth][XRows::kPitch];
  alignas(16) __shared__ float ws[kDepth][WeightRows::kPitch];
  const int64_t n0 = static_cast<int64_t>(blockIdx.x) * Shape::kColumns;
  const int64_t m0 = static_cast<int64_t>(blockIdx.y) * Shape::kRows;
  constexpr int kAcross = Shape::kColumns / kEach;
  const int x0 = static_cast<int>(threadIdx.x) / kAcross * kEach;
  const int w0 = static_cast<int>(threadIdx.x) % kAcross * kEach;
  XRows x_rows;
  WeightRows weight_rows;
  const auto bring = [&](int64_t at) {
    x_rows.Bring([&](int row, int part, float* values) {
      const int64_t i = at + part;
      const float* x = args.x + (m0 + row) * args.k + i;
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        values[v] = m0 + row < args.m && i + v < args.k ? x[v] : 0.0f;
      }
    });
    weight_rows.Bring([&](int row, int part, float* values) {
      const int64_t i = at + part;
      if (n0 + row < args.n && i < args.k) {
        const uint8_t* weights = static_cast<const uint8_t*>(args.weights);
        DecodeEight<type>(weights + (n0 + row) * weight_row_bytes, args.k, i, values);
      } else {
#pragma unroll
        for (int v = 0; v < kVector; ++v) values[v] = 0.0f;
      }
    });
  };
  Sum sums[kEach][kEach] = {};
  bring(0);
  for (int64_t at = 0; at < args.k; at += kDepth) {
    x_rows.Store(xs);
    weight_rows.Store(ws);
    __syncthreads();
    if (at + kDepth < args.k) bring(at + kDepth);
    Multiply<kEach>(xs, ws, x0, w0, sums);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t m = m0 + x0 + i;
      const int64_t n = n0 + w0 + j;
      if (m >= args.m || n >= args.n) continue;
      const auto sum = static_cast<float>(sums[i][j]);
      args.out[m * args.out_stride + n] = args.bias == nullptr ? sum : sum + args.bias[n];
    }
  }
}

template <ElementType type, typename Sum, typename Shape>
KernelStatus LaunchGemm(const GemmArgs& args, cudaStream_t stream) {
  const int64_t grid_x = CeilDiv(args.n, Shape::kColumns);
  const int64_t grid_y = CeilDiv(args.m, Shape::kRows);
  if (grid_x > kMaxGridX || grid_y > kMaxGridYz) return KernelStatus::kBadShape;
  const LaunchShape shape{dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y)),
                          dim3(Shape::kThreads)};
  return Launch(GemmKernel<type, Sum, Shape>, shape, stream, args,
                WeightRowBytes(args.type, args.k));
}

}  // namespace

KernelStatus Gemm(const GemmArgs& args, cudaStream_t stream) {
  if (args.m < 0 || args.n < 0 || args.k <= 0) return KernelStatus::kBadShape;
  if (args.m == 0 || args.n == 0) return KernelStatus::kOk;
  if (WeightRowBytes(args.type, args.k) == 0) return KernelStatus::kBadShape;
  const int64_t large = CeilDiv(args.n, LargeTile::kColumns) * CeilDiv(args.m, LargeTile::kRows);
  if (args.type == ElementType::kF32 && !args.exact && large < kFewBlocks) {
    return LaunchGemm<ElementType::kF32, float, SmallTile>(args, stream);
  }
  return ForType(args.type, [&](auto tag) {
    constexpr ElementType kType = decltype(tag)::kType;
    return args.exact ? LaunchGemm<kType, double, LargeTile>(args, stream)
                      : LaunchGemm<kType, float, LargeTile>(args, stream);
  });
}

}  // namespace minfer::kernels::cuda
