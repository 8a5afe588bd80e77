// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for AVX-512 with F, BW and VL.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_avx512.h"
#include "kernels/cpu/matmul_body.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {
namespace avx512 {

struct Unit;
using MatMulTraits = MatMulAvx512<Unit>;

namespace {

constexpr MatMulKernels kMatMul = MatMulKernelsOf<MatMulTraits>();

}  // namespace
}  // namespace avx512

const CpuKernels kAvx512Kernels = {
    .isa = Isa::kAvx512,
    .name = "avx512",
    .matmul = &avx512::kMatMul,
    .attention = &kAttentionAvx512,
    .vector = &kVectorAvx512,
};

}  // namespace minfer::kernels
