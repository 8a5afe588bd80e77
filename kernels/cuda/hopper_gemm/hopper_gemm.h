// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// half_gemm for exactly compute capability 9.0: wgmma from shared memory that tensor copies fill.
#pragma once

#include "kernels/cuda/half_gemm/half_gemm.h"

namespace minfer::kernels::cuda {

// Whether this build has it; x and w must then start at multiples of 16 bytes.
bool HasHopperGemm();

// As HalfGemm. One block a multiprocessor walks its share of the tiles.
KernelStatus HopperGemm(const HalfGemmArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
