// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Micro-benchmarks of the kernel families beside the products of matrices, which have programs of
// their own: cuda_family_bench [part of a family's name].
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/cuda_bench.h"

namespace minfer::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kLaunches = 40;
constexpr int kRounds = 7;

// Every half positive and below 1: no NaN where a scale is.
__global__ void FillWords(uint32_t* to, int64_t words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < words;
       i += step) {
    uint32_t x = static_cast<uint32_t>(i) * 2654435761u + 7u;
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    to[i] = x & 0x3bff3bffu;
  }
}

void Check(bool ok, const char* what) {
  if (ok) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

}  // namespace

CudaBench::CudaBench(std::string filter) : filter_(std::move(filter)) {
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "stream");
  Check(cudaMalloc(&arena_, kArenaBytes) == cudaSuccess, "memory");
  FillWords<<<2048, kThreads, 0, stream_>>>(reinterpret_cast<uint32_t*>(arena_), kArenaBytes / 4);
  Check(cudaStreamSynchronize(stream_) == cudaSuccess, "filling");
}

bool CudaBench::Wants(const std::string& family) const {
  return family.find(filter_) != std::string::npos;
}

void CudaBench::Run(const std::string& family, const std::string& what, const Cost& cost,
                    const std::function<kernels::KernelStatus(int64_t)>& launch) {
  if (!Wants(family)) return;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  // Once directly, so that the module is loaded and shared memory is allowed.
  Check(launch(0) == kernels::KernelStatus::kOk, what.c_str());
  Check(cudaStreamSynchronize(stream_) == cudaSuccess, what.c_str());
  Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) == cudaSuccess,
        "recording");
  for (int64_t i = 0; i < kLaunches; ++i) {
    Check(launch(i) == kernels::KernelStatus::kOk, what.c_str());
  }
  Check(cudaStreamEndCapture(stream_, &graph) == cudaSuccess, "recording");
  Check(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess, "a graph");
  Check(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
  std::vector<float> times;
  for (int round = 0; round < kRounds; ++round) {
    float ms = 0.0f;
    Check(cudaEventRecord(begin, stream_) == cudaSuccess &&
              cudaGraphLaunch(exec, stream_) == cudaSuccess &&
              cudaEventRecord(end, stream_) == cudaSuccess &&
              cudaStreamSynchronize(stream_) == cudaSuccess &&
              cudaEventElapsedTime(&ms, begin, end) == cudaSuccess,
          what.c_str());
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  const double us = times[kRounds / 2] * 1e3 / kLaunches;
  const double share = std::max(cost.bytes / kBandwidth, cost.flops / kTensorFlops) / (us * 1e-6);
  std::printf("| %-10s | %-44s | %8.2f | %7.0f | %6.1f | %3.0f %% |\n", family.c_str(),
              what.c_str(), us, cost.bytes / us * 1e-3, cost.flops / us * 1e-6, 100.0 * share);
  std::fflush(stdout);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
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
