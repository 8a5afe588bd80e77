// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Work in one stream runs in order, work in two may overlap, and an event makes one stream wait for
// a point of the other without the host. nvcc -o streams 04_streams.cu && ./streams
#include "primer.cuh"

// One warp, busy for a while: there is room for many beside it.
__global__ void Wait(long long cycles, int* done, int value) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  if (threadIdx.x == 0) *done = value;
}

__global__ void Join(const int* a, const int* b, int* sum) { *sum = *a + *b; }

int main() {
  NeedDevice();
  constexpr long long kCycles = 20000000;
  int* memory;  // a, b and their sum
  Check(cudaMalloc(&memory, 3 * sizeof(int)), "memory");
  cudaStream_t one, two;
  cudaEvent_t begin, end, half;
  Check(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), "stream");
  Check(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking), "stream");
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  Check(cudaEventCreate(&half), "event");
  float milliseconds[2] = {};
  for (const bool both : {false, true}) {
    Check(cudaMemset(memory, 0, 3 * sizeof(int)), "zero");
    Check(cudaDeviceSynchronize(), "wait");
    cudaStream_t other = both ? two : one;
    Check(cudaEventRecord(begin, one), "record");
    Check(cudaStreamWaitEvent(other, begin), "wait for the start");
    Wait<<<1, 32, 0, one>>>(kCycles, memory, 30);
    Wait<<<1, 32, 0, other>>>(kCycles, memory + 1, 12);
    Check(cudaEventRecord(half, other), "record");
    Check(cudaStreamWaitEvent(one, half), "wait for the other stream");
    Join<<<1, 1, 0, one>>>(memory, memory + 1, memory + 2);
    Check(cudaGetLastError(), "launch");
    Check(cudaEventRecord(end, one), "record");
    Check(cudaEventSynchronize(end), "run");
    Check(cudaEventElapsedTime(&milliseconds[both], begin, end), "time");
    int sum = 0;
    Check(cudaMemcpy(&sum, memory + 2, sizeof(int), cudaMemcpyDeviceToHost), "readback");
    if (sum == 42) continue;
    std::printf("FAIL: the sum is %d: a stream did not wait\n", sum);
    return 1;
  }
  std::printf("PASS: %.2f ms in one stream, %.2f ms in two\n", milliseconds[0], milliseconds[1]);
  return 0;
}
