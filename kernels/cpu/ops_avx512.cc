// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/simd_avx512.h"
#include "kernels/cpu/vector_body.h"

namespace minfer::kernels {

const AttentionKernels kAttentionAvx512 = Attention<avx512::Simd>::kTable;
const VectorKernels kVectorAvx512 = VectorOps<avx512::Simd>::kTable;

}  // namespace minfer::kernels
