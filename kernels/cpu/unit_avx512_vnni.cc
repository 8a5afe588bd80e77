// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for AVX-512 with F, BW, VL and VNNI.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_avx512_vnni.h"
#include "kernels/cpu/matmul_body.h"
#include "kernels/cpu/matmul_few_vnni.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {
namespace avx512_vnni {
namespace {

constexpr MatMulKernels kMatMul = MatMulKernelsOf<MatMulTraits>();

}  // namespace
}  // namespace avx512_vnni

const CpuKernels kAvx512VnniKernels = {
    .isa = Isa::kAvx512Vnni,
    .name = "avx512_vnni",
    .matmul = &avx512_vnni::kMatMul,
    .attention = &kAttentionAvx512,
    .vector = &kVectorAvx512,
};

}  // namespace minfer::kernels
