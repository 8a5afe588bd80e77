// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Plain scalar twins of the matrix product kernels. They state each product's arithmetic exactly:
// every ISA unit gives the same bits.
//
// Float weights (F32, F16) and decoded rows, with float activations: sixteen partial sums;
// sum l takes the products of values l, l + 16, ... in order, each by one fma (values past the end
// count as zero); then s[l] += s[l + 8] for l < 8, s[l] += s[l + 4] for l < 4, and so on to s[0].
//
// BF16 weights, with activations rounded to BF16: sixteen partial sums; from each thirty-two values
// (past the end they count as zero) sum l takes the product of values 2 l + 1, then that of values
// 2 l, each by one fma; then the sums are added up as above. Numbers below 2^-126 count as zero
// everywhere: that is VDPBF16PS.
//
// Quantised weights, with a the activation block and all sums of codes exact integers, block by
// block in order:
//   32 values   sum = fma(sum(code * a.q), scale * a.scale, sum)
//               and with a min (Q4_1, Q5_1):  sum = fma(min, a.scaled_sum, sum)
//   256 values  sum = fma(sum_j(scale_j * sum(code * a.q)), scale * a.scale, sum)
//               and with mins (Q2_K, Q4_K, Q5_K):
//               sum = fma(-sum_j(min_j * sum(a.q)), min * a.scale, sum)
// where a code is what is multiplied by the scale: Q4_0's less 8, IQ4_NL's looked up, and so on.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

// The twin of MatMulKernels::quantize_row.
KernelStatus ReferenceQuantizeRow(ActivationFormat format, const float* x, int64_t k, void* out);

// The twin of MatMulKernels::matmul: the same activations, the same formulas.
KernelStatus ReferenceMatMul(const MatMulArgs& args);

// Float activations with every type: decoded weights, products summed in double and rounded once.
// The reference mode of the CPU backend, and what the quantised kernels are judged against.
KernelStatus ReferenceFloatMatMul(const MatMulArgs& args);

}  // namespace minfer::kernels
