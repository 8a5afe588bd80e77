// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/transfer/scatter.h"

#include <algorithm>

#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 256;
// Blocks of a piece; reads over the bus are slow one by one, so many are under way.
constexpr int64_t kMaxBlocks = 16;

__global__ void __launch_bounds__(kThreads)
    ScatterKernel(const __grid_constant__ ScatterArgs args) {
  const ScatterPiece& piece = args.pieces[blockIdx.y];
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < piece.words;
       i += step) {
    piece.to[i] = piece.from[i];
  }
}

}  // namespace

KernelStatus Scatter(const ScatterArgs& args, cudaStream_t stream) {
  if (args.n_pieces < 0 || args.n_pieces > kMaxScatterPieces) return KernelStatus::kBadShape;
  int64_t most = 0;
  for (int p = 0; p < args.n_pieces; ++p) {
    if (args.pieces[p].words < 0) return KernelStatus::kBadShape;
    most = std::max(most, args.pieces[p].words);
  }
  if (most == 0) return KernelStatus::kOk;
  const int64_t grid = std::min(kMaxBlocks, CeilDiv(most, kThreads));
  return Launch(
      ScatterKernel,
      {dim3(static_cast<unsigned>(grid), static_cast<unsigned>(args.n_pieces)), dim3(kThreads)},
      stream, args);
}

}  // namespace minfer::kernels::cuda
