// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrices for tests of products, with what their weights and rounded activations stand for.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/quant/element_type.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {

struct Matrix {
  kernels::testing::WeightMatrix stored;
  std::vector<float> values;
  std::vector<uint8_t> packed;  // as the device has it
};

Matrix MakeMatrix(ElementType type, int64_t n, int64_t k, uint32_t seed);

// x W^T + bias in double.
std::vector<float> Product(const Matrix& matrix, const std::vector<double>& x, int64_t m, int64_t n,
                           int64_t k, const std::vector<float>& bias);

// What rows of 8-bit activations stand for, the residual added where asked.
std::vector<double> Rounded(const std::vector<float>& x, int64_t m, int64_t k, bool residual);

}  // namespace minfer::testing
