// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the benchmarks in CUDA share: random memory, and the time of launches recorded in a graph.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace minfer::bench {

inline void Check(bool ok, const char* what) {
  if (ok) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

// Random words of two halves. The mask keeps a half positive, or small: no NaN where a scale is.
static __global__ void FillWordsKernel(uint32_t* to, int64_t words, uint32_t mask) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += step) {
    uint32_t x = static_cast<uint32_t>(i) * 2654435761u + 7u;
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    to[i] = x & mask;
  }
}

inline void FillWords(void* to, int64_t bytes, uint32_t mask, cudaStream_t stream) {
  FillWordsKernel<<<2048, 256, 0, stream>>>(static_cast<uint32_t*>(to), bytes / 4, mask);
  Check(cudaGetLastError() == cudaSuccess, "filling");
}

// The median of `rounds` replays of what `enqueue` puts into the stream, after two that do not
// count, in us. It runs directly first, so that modules are loaded and shared memory is allowed.
inline double MedianReplay(cudaStream_t stream, int rounds, const std::function<void()>& enqueue) {
  constexpr int kWarmUp = 2;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  enqueue();
  Check(cudaStreamSynchronize(stream) == cudaSuccess, "a direct run");
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess,
        "recording");
  enqueue();
  Check(cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
            cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess,
        "a graph");
  Check(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
  std::vector<float> times;
  for (int i = 0; i < kWarmUp + rounds; ++i) {
    float ms = 0.0f;
    Check(cudaEventRecord(begin, stream) == cudaSuccess &&
              cudaGraphLaunch(exec, stream) == cudaSuccess &&
              cudaEventRecord(end, stream) == cudaSuccess &&
              cudaStreamSynchronize(stream) == cudaSuccess &&
              cudaEventElapsedTime(&ms, begin, end) == cudaSuccess,
          "a replay");
    if (i >= kWarmUp) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  return 1e3 * static_cast<double>(times[times.size() / 2]);
}

}  // namespace minfer::bench
