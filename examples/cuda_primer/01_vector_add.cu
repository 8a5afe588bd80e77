// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One thread an element: z = x + y. nvcc -o add 01_vector_add.cu && ./add 1000
#include <vector>

#include "primer.cuh"

__global__ void Add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];  // the last block has threads to spare
}

int main(int argc, char** argv) {
  NeedDevice();
  const int n = SizeFrom(argc, argv, 100000);
  std::vector<float> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    x[i] = 0.5f * static_cast<float>(i);
    y[i] = 1.0f - static_cast<float>(i);
  }
  const size_t bytes = n * sizeof(float);
  float *dx, *dy, *dz;  // in the memory of the device, which the host cannot read
  Check(cudaMalloc(&dx, bytes), "memory");
  Check(cudaMalloc(&dy, bytes), "memory");
  Check(cudaMalloc(&dz, bytes), "memory");
  Check(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice), "upload");
  Check(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice), "upload");
  Add<<<BlocksFor(n, 256), 256>>>(dx, dy, dz, n);
  Check(cudaGetLastError(), "launch");
  Check(cudaMemcpy(z.data(), dz, bytes, cudaMemcpyDeviceToHost), "run, or readback");
  for (int i = 0; i < n; ++i) {
    if (z[i] == x[i] + y[i]) continue;
    std::printf("FAIL: element %d is %g, not %g\n", i, z[i], x[i] + y[i]);
    return 1;
  }
  std::printf("PASS: %d sums\n", n);
  return 0;
}
