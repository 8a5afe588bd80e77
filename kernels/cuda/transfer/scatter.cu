// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/transfer/scatter.h"

#include <algorithm>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/transfer/scatter.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    ScatterKernel(const __grid_constant__ ScatterArgs args) {
  CopyWords(args.pieces[blockIdx.y], static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x,
            static_cast<int64_t>(gridDim.x) * kThreads);
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
  const int64_t grid = std::min(kMaxScatterBlocks, CeilDiv(most, kThreads));
  return Launch(
      ScatterKernel,
      {dim3(static_cast<unsigned>(grid), static_cast<unsigned>(args.n_pieces)), dim3(kThreads)},
      stream, args);
}

}  // namespace minfer::kernels::cuda
