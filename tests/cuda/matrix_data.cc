// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/matrix_data.h"

#include <catch2/catch.hpp>

#include "kernels/quant/activation_blocks.h"
#include "kernels/quant/dequantize.h"
#include "kernels/reference/matmul_reference.h"
#include "tests/cuda/device_data.h"

namespace minfer::testing {

using kernels::ActivationFormat;
using kernels::KernelStatus;
using kernels::testing::RandomWeights;

Matrix MakeMatrix(ElementType type, int64_t n, int64_t k, uint32_t seed) {
  Matrix matrix{RandomWeights(type, n, k, 0, seed), {}, {}};
  matrix.values.resize(static_cast<size_t>(n * k));
  for (int64_t r = 0; r < n; ++r) {
    REQUIRE(kernels::DequantizeRow(
                type, matrix.stored.data() + static_cast<size_t>(r) * matrix.stored.row_bytes,
                matrix.values.data() + r * k, k) == KernelStatus::kOk);
  }
  matrix.packed = PackRows(type, n, k, matrix.stored.data(), matrix.stored.row_bytes);
  return matrix;
}

std::vector<float> Product(const Matrix& matrix, const std::vector<double>& x, int64_t m, int64_t n,
                           int64_t k, const std::vector<float>& bias) {
  std::vector<float> out;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = bias.empty() ? 0.0 : bias[static_cast<size_t>(j)];
      for (int64_t c = 0; c < k; ++c) {
        sum += x[static_cast<size_t>(i * k + c)] *
               static_cast<double>(matrix.values[static_cast<size_t>(j * k + c)]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

std::vector<double> Rounded(const std::vector<float>& x, int64_t m, int64_t k, bool residual) {
  std::vector<double> out(x.size(), 0.0);
  std::vector<float> rest = x;
  for (int pass = 0; pass < (residual ? 2 : 1); ++pass) {
    std::vector<uint8_t> blocks(static_cast<size_t>(k) / 32 * sizeof(kernels::ActivationBlock32));
    for (int64_t r = 0; r < m; ++r) {
      float* row = rest.data() + r * k;
      REQUIRE(kernels::ReferenceQuantizeRow(ActivationFormat::kQ8Block32, row, k, blocks.data()) ==
              KernelStatus::kOk);
      const auto* block = reinterpret_cast<const kernels::ActivationBlock32*>(blocks.data());
      for (int64_t c = 0; c < k; ++c) {
        const kernels::ActivationBlock32& b = block[c / 32];
        const float value = b.scale * static_cast<float>(b.quants[c % 32]);
        out[static_cast<size_t>(r * k + c)] += static_cast<double>(value);
        row[c] -= value;
      }
    }
  }
  return out;
}

}  // namespace minfer::testing
