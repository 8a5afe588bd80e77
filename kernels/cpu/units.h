// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The tables that the units define, one unit an instruction set.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

extern const CpuKernels kGenericKernels;
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;
extern const CpuKernels kAvx512VnniKernels;
extern const CpuKernels kAvx512Bf16Kernels;

}  // namespace minfer::kernels
