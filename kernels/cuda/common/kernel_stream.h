// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The stream of a launch, whether the kernel may start before the one ahead of it is complete
// (arch/griddepcontrol.cuh), and what kernels of the device have been let have of shared memory.
// Converts from a plain stream.
#pragma once

#include <cuda_runtime_api.h>

namespace minfer::kernels::cuda {

class SharedOptIns;

struct KernelStream {
  KernelStream(cudaStream_t s) : stream(s) {}  // NOLINT: a plain stream is one
  KernelStream(cudaStream_t s, bool early_start) : stream(s), early(early_start) {}
  KernelStream(cudaStream_t s, bool early_start, SharedOptIns* opted, bool is_recorded)
      : stream(s), early(early_start), opt_ins(opted), recorded(is_recorded) {}

  cudaStream_t stream = nullptr;
  // Devices from 9.0 on, and kernels that wait for the ones before them.
  bool early = false;
  SharedOptIns* opt_ins = nullptr;  // nullptr: the driver is asked at every launch
  bool recorded = false;            // into a graph, at the moment
};

}  // namespace minfer::kernels::cuda
