// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Programmatic dependent launch (griddepcontrol, from 9.0 on; nothing before). A kernel that is
// launched early (launch.cuh) may start while the one before it still runs. So that "the one before
// is complete" means that all before it are, every thread of such a kernel waits, before it touches
// anything but weights, parameters and settled inputs (../README.md), and before it returns.
#pragma once

namespace minfer::kernels::cuda {

// The kernel after this one may start once all blocks have come here or returned.
__device__ __forceinline__ void GridDependencyLaunch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}

// Returns when the kernels before this one are complete and what they wrote is visible.
__device__ __forceinline__ void GridDependencyWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

}  // namespace minfer::kernels::cuda
