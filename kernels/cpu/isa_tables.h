// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The attention and vector tables of the ISA units. VNNI adds nothing to these: avx512_vnni uses
// the tables of avx512.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

extern const AttentionKernels kAttentionGeneric;
extern const VectorKernels kVectorGeneric;
extern const AttentionKernels kAttentionAvx2;
extern const VectorKernels kVectorAvx2;
extern const AttentionKernels kAttentionAvx512;
extern const VectorKernels kVectorAvx512;

}  // namespace minfer::kernels
