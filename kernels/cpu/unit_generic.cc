// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for every processor: plain C++, the same body on scalar traits.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_check.h"
#include "kernels/cpu/units.h"
#include "kernels/reference/matmul_reference.h"

namespace minfer::kernels {
namespace generic {
namespace {

constexpr MatMulKernels kMatMul = {
    .activation_format = ActivationFormatFor,
    .activation_row_bytes = ActivationRowBytes,
    .quantize_row = ReferenceQuantizeRow,
    .matmul = ReferenceMatMul,
    .has_fast_dot = HasFastDot,
};

}  // namespace
}  // namespace generic

const CpuKernels kGenericKernels = {
    .isa = Isa::kGeneric,
    .name = "generic",
    .matmul = &generic::kMatMul,
    .attention = &kAttentionGeneric,
    .vector = &kVectorGeneric,
};

}  // namespace minfer::kernels
