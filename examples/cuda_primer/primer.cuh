// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What every program here needs: the check of a call, the size from the command line, the end.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline constexpr int kNoDevice = 77;

// Ends the program with the reason when a call failed.
inline void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAIL: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Ends the program where there is nothing to run on.
inline void NeedDevice() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;
  std::printf("no CUDA device\n");
  std::exit(kNoDevice);
}

// The size that the command line gives, or another.
inline int SizeFrom(int argc, char** argv, int otherwise) {
  const long size = argc > 1 ? std::strtol(argv[1], nullptr, 10) : otherwise;
  if (size > 0 && size < (1 << 28)) return static_cast<int>(size);
  std::printf("FAIL: the size must lie between 1 and 2^28\n");
  std::exit(1);
}

inline int BlocksFor(int n, int threads) { return (n + threads - 1) / threads; }
