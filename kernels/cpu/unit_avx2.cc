// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for AVX2, FMA and F16C.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_avx2.h"
#include "kernels/cpu/matmul_body.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {
namespace avx2 {
namespace {

constexpr MatMulKernels kMatMul = MatMulKernelsOf<MatMulTraits>();

}  // namespace
}  // namespace avx2

const CpuKernels kAvx2Kernels = {
    .isa = Isa::kAvx2,
    .name = "avx2",
    .matmul = &avx2::kMatMul,
    .attention = &kAttentionAvx2,
    .vector = &kVectorAvx2,
};

}  // namespace minfer::kernels
