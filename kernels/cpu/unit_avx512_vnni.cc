// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for AVX-512 with F, BW, VL and VNNI.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_avx512_vnni.h"
#include "kernels/cpu/matmul_body.h"
#include "kernels/cpu/matmul_few_vnni.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {

const MatMulKernels kMatMulAvx512Vnni = MatMulKernelsOf<avx512_vnni::MatMulTraits>();

const CpuKernels kAvx512VnniKernels = {
    .isa = Isa::kAvx512Vnni,
    .name = "avx512_vnni",
    .matmul = &kMatMulAvx512Vnni,
    .attention = &kAttentionAvx512,
    .vector = &kVectorAvx512,
};

}  // namespace minfer::kernels
