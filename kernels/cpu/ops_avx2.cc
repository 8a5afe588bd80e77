// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/simd_avx2.h"
#include "kernels/cpu/vector_body.h"

namespace minfer::kernels {

const AttentionKernels kAttentionAvx2 = Attention<avx2::Simd>::kTable;
const VectorKernels kVectorAvx2 = VectorOps<avx2::Simd>::kTable;

}  // namespace minfer::kernels
