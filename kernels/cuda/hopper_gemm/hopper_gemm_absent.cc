// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// In the place of hopper_gemm.cu where the build has no code for 9.0.
#include "kernels/cuda/hopper_gemm/hopper_gemm.h"

namespace minfer::kernels::cuda {

bool HasHopperGemm() { return false; }

KernelStatus HopperGemm(const HalfGemmArgs&, KernelStream) {
  return KernelStatus::kUnsupportedType;
}

}  // namespace minfer::kernels::cuda
