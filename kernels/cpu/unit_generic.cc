// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for every processor: plain C++.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_body.h"
#include "kernels/cpu/matmul_generic.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {
namespace generic {
namespace {

constexpr MatMulKernels kMatMul = MatMulKernelsOf<MatMulTraits>();

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
