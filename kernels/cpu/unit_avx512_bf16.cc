// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The unit for AVX-512 with F, BW, VL, VNNI and BF16: products with BF16 weights. Everything else
// is that of avx512_vnni.
#include "kernels/cpu/isa_tables.h"
#include "kernels/cpu/matmul_avx512_bf16.h"
#include "kernels/cpu/matmul_bf16.h"
#include "kernels/cpu/matmul_quantize.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {
namespace avx512_bf16 {
namespace {

KernelStatus MatMul(const MatMulArgs& args) {
  if (args.weight_type != ElementType::kBF16) return kMatMulAvx512Vnni.matmul(args);
  const KernelStatus status = CheckMatMul(args);
  if (status != KernelStatus::kOk) return status;
  BFloat16MatMul<MatMulTraits>(args);
  return KernelStatus::kOk;
}

constexpr MatMulKernels kMatMul = {.activation_format = ActivationFormatFor,
                                   .activation_row_bytes = ActivationRowBytes,
                                   .quantize_row = QuantizeActivations<MatMulTraits>,
                                   .matmul = MatMul,
                                   .has_fast_dot = HasFastDot};

}  // namespace
}  // namespace avx512_bf16

const CpuKernels kAvx512Bf16Kernels = {
    .isa = Isa::kAvx512Bf16,
    .name = "avx512_bf16",
    .matmul = &avx512_bf16::kMatMul,
    .attention = &kAttentionAvx512,
    .vector = &kVectorAvx512,
};

}  // namespace minfer::kernels
