// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/simd_generic.h"
#include "kernels/cpu/vector_body.h"

namespace minfer::kernels {

const AttentionKernels kAttentionGeneric = Attention<generic::Simd>::kTable;
const VectorKernels kVectorGeneric = VectorOps<generic::Simd>::kTable;

}  // namespace minfer::kernels
