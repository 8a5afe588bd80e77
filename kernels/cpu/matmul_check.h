// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What is the same in every ISA unit of the matrix products: formats, sizes and preconditions.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

ActivationFormat ActivationFormatFor(ElementType weight_type);
bool HasFastDot(ElementType weight_type);
size_t ActivationRowBytes(ActivationFormat format, int64_t k);

// kBadShape when k is negative or no multiple of the format's block.
KernelStatus CheckActivations(ActivationFormat format, int64_t k);
KernelStatus CheckMatMul(const MatMulArgs& args);

}  // namespace minfer::kernels
