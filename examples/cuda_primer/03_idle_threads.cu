// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Blocks come whole: the threads past the end are launched too, and must do nothing. Each block
// counts them. nvcc -o idle 03_idle_threads.cu && ./idle 896
#include "primer.cuh"

__global__ void CountIdle(int n, int* idle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(i >= n);
  if (threadIdx.x == 0) atomicAdd(idle, count);
}

int main(int argc, char** argv) {
  NeedDevice();
  const int n = SizeFrom(argc, argv, 896);
  int* device;
  Check(cudaMalloc(&device, sizeof(int)), "memory");
  for (const int threads : {32, 256, 1024}) {
    const int blocks = BlocksFor(n, threads);
    Check(cudaMemset(device, 0, sizeof(int)), "zero");
    CountIdle<<<blocks, threads>>>(n, device);
    Check(cudaGetLastError(), "launch");
    int idle = 0;
    Check(cudaMemcpy(&idle, device, sizeof(int), cudaMemcpyDeviceToHost), "run, or readback");
    std::printf("%5d blocks of %4d threads: %5d idle\n", blocks, threads, idle);
    if (idle == blocks * threads - n) continue;
    std::printf("FAIL: not %d\n", blocks * threads - n);
    return 1;
  }
  std::printf("PASS: %d elements\n", n);
  return 0;
}
