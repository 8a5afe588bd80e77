// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The stream of a launch, and whether the kernel may start before the one ahead of it is complete
// (arch/griddepcontrol.cuh). Converts from a plain stream, for kernels that never start early.
#pragma once

#include <cuda_runtime_api.h>

namespace minfer::kernels::cuda {

struct KernelStream {
  KernelStream(cudaStream_t s) : stream(s) {}  // NOLINT: a plain stream is one
  KernelStream(cudaStream_t s, bool early_start) : stream(s), early(early_start) {}

  cudaStream_t stream = nullptr;
  // Devices from 9.0 on, and kernels that wait for the ones before them.
  bool early = false;
};

}  // namespace minfer::kernels::cuda
