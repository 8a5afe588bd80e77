// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The activation of most models, against the CPU, and the two places where an error shows: a launch
// that was refused shows at once, one that went wrong while it ran shows at the next wait.
// nvcc -o silu 02_silu.cu && ./silu 4864
#include <cmath>
#include <vector>

#include "primer.cuh"

__global__ void Silu(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] / (1.0f + expf(-x[i]));
}

int main(int argc, char** argv) {
  NeedDevice();
  const int n = SizeFrom(argc, argv, 4864);
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = 12.0f * static_cast<float>(i) / static_cast<float>(n) - 6.0f;
  const size_t bytes = n * sizeof(float);
  float* device;
  Check(cudaMalloc(&device, bytes), "memory");
  Check(cudaMemcpy(device, x.data(), bytes, cudaMemcpyHostToDevice), "upload");
  // No block has 4,096 threads: refused before anything runs, and x stays as it is.
  Silu<<<1, 4096>>>(device, n);
  if (cudaGetLastError() == cudaSuccess) {
    std::printf("FAIL: a block that is too large was not refused\n");
    return 1;
  }
  Silu<<<BlocksFor(n, 256), 256>>>(device, n);
  Check(cudaGetLastError(), "launch");
  Check(cudaDeviceSynchronize(), "run");
  Check(cudaMemcpy(y.data(), device, bytes, cudaMemcpyDeviceToHost), "readback");
  double worst = 0.0;
  for (int i = 0; i < n; ++i) {
    const double want = x[i] / (1.0 + std::exp(-static_cast<double>(x[i])));
    worst = std::fmax(worst, std::fabs(y[i] - want));
  }
  // Two implementations of exp differ in the last bits.
  std::printf("%s: %d values, largest difference %.2g\n", worst < 2e-6 ? "PASS" : "FAIL", n, worst);
  return worst < 2e-6 ? 0 : 1;
}
