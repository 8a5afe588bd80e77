// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The tables that units share. VNNI adds nothing to attention and vectors: avx512_vnni uses those
// of avx512. BF16 adds nothing to most products: avx512_bf16 uses those of avx512_vnni.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

extern const AttentionKernels kAttentionGeneric;
extern const VectorKernels kVectorGeneric;
extern const AttentionKernels kAttentionAvx2;
extern const VectorKernels kVectorAvx2;
extern const AttentionKernels kAttentionAvx512;
extern const VectorKernels kVectorAvx512;
extern const MatMulKernels kMatMulAvx512Vnni;

}  // namespace minfer::kernels
