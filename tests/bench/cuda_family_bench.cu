// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Micro-benchmarks of the kernel families beside the products of matrices, which have programs of
// their own: cuda_family_bench [part of a family's name].
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/cuda_bench.h"
#include "tests/bench/cuda_timing.cuh"

namespace minfer::bench {
namespace {

constexpr int kLaunches = 40;
constexpr int kRounds = 7;

}  // namespace

CudaBench::CudaBench(std::string filter) : filter_(std::move(filter)) {
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "stream");
  Check(cudaMalloc(&arena_, kArenaBytes) == cudaSuccess, "memory");
  FillWords(arena_, kArenaBytes, 0x3bff3bffu, stream_);
  Check(cudaStreamSynchronize(stream_) == cudaSuccess, "filling");
}

bool CudaBench::Wants(const std::string& family) const {
  return family.find(filter_) != std::string::npos;
}

void CudaBench::Run(const std::string& family, const std::string& what, const Cost& cost,
                    const std::function<kernels::KernelStatus(int64_t)>& launch) {
  if (!Wants(family)) return;
  const auto enqueue = [&] {
    for (int64_t i = 0; i < kLaunches; ++i) {
      Check(launch(i) == kernels::KernelStatus::kOk, what.c_str());
    }
  };
  const double us = MedianReplay(stream_, kRounds, enqueue) / kLaunches;
  const double share = std::max(cost.bytes / kBandwidth, cost.flops / kTensorFlops) / (us * 1e-6);
  std::printf("| %-10s | %-44s | %8.2f | %7.0f | %6.1f | %3.0f %% |\n", family.c_str(),
              what.c_str(), us, cost.bytes / us * 1e-3, cost.flops / us * 1e-6, 100.0 * share);
  std::fflush(stdout);
}

uint8_t* CudaBench::Allocate(int64_t bytes) const {
  uint8_t* data = nullptr;
  Check(cudaMalloc(&data, static_cast<size_t>(bytes)) == cudaSuccess, "memory");
  Check(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), stream_) == cudaSuccess, "memory");
  return data;
}

int32_t* CudaBench::Upload(const std::vector<int32_t>& values) const {
  const size_t bytes = values.size() * sizeof(int32_t);
  uint8_t* data = Allocate(static_cast<int64_t>(bytes));
  Check(
      cudaMemcpyAsync(data, values.data(), bytes, cudaMemcpyHostToDevice, stream_) == cudaSuccess &&
          cudaStreamSynchronize(stream_) == cudaSuccess,
      "numbers");
  return reinterpret_cast<int32_t*>(data);
}

uint8_t* CudaBench::Pinned(int64_t bytes) const {
  void* data = nullptr;
  Check(cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault) == cudaSuccess,
        "pinned memory");
  return static_cast<uint8_t*>(data);
}

}  // namespace minfer::bench

int main(int argc, char** argv) {
  minfer::bench::CudaBench bench(argc > 1 ? argv[1] : "");
  std::printf(
      "| family     | case                                         |       us |    GB/s |"
      " TFLOP/s | limit |\n| --- | --- | --- | --- | --- | --- |\n");
  minfer::bench::RunTransferFamilies(&bench);
  minfer::bench::RunVectorFamilies(&bench);
  minfer::bench::RunAttentionFamilies(&bench);
  minfer::bench::RunExpertFamily(&bench);
  return 0;
}
