// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/expert_reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/quant/dequantize.h"

namespace minfer::kernels::reference {

void TopExperts(const TopExpertsArgs& a) {
  std::vector<int32_t> order(static_cast<size_t>(a.n_experts));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t e) { return std::isnan(a.scores[e]) ? -HUGE_VALF : a.scores[e]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t x, int32_t y) { return key(x) > key(y); });
  double all = 0.0;
  for (int32_t e = 0; e < a.n_experts; ++e) all += std::exp(static_cast<double>(a.scores[e]));
  double chosen = 0.0;
  for (int32_t j = 0; j < a.n_used; ++j) {
    chosen += std::exp(static_cast<double>(a.scores[order[static_cast<size_t>(j)]])) / all;
  }
  for (int32_t j = 0; j < a.n_used; ++j) {
    a.ids[j] = order[static_cast<size_t>(j)];
    const double probability = std::exp(static_cast<double>(a.scores[a.ids[j]])) / all;
    a.weights[j] =
        static_cast<float>((a.normalise ? probability / chosen : probability) * a.factor);
  }
}

void GroupExperts(const std::vector<int32_t>& ids, int32_t n_experts, std::vector<int32_t>* slots,
                  std::vector<int32_t>* counts) {
  slots->clear();
  counts->clear();
  for (int32_t e = 0; e < n_experts; ++e) {
    const size_t before = slots->size();
    for (size_t s = 0; s < ids.size(); ++s) {
      if (ids[s] == e) slots->push_back(static_cast<int32_t>(s));
    }
    counts->push_back(static_cast<int32_t>(slots->size() - before));
  }
}

std::vector<float> ExpertMatMul(const ExpertMatMulArgs& a, const std::vector<int32_t>& ids) {
  std::vector<float> y;
  const ElementTraits& traits = *FindElementTraits(a.type);
  const int64_t row_bytes = a.k / traits.block_elements * traits.block_bytes;
  std::vector<float> row(static_cast<size_t>(a.k));
  for (size_t s = 0; s < ids.size(); ++s) {
    const float* x = a.x + static_cast<int64_t>(s) / a.fan_out * a.k;
    for (int64_t i = 0; i < a.n; ++i) {
      const int64_t at = ids[s] * a.n + i;
      DequantizeRow(a.type, static_cast<const uint8_t*>(a.weights) + at * row_bytes, row.data(),
                    a.k);
      double sum = a.bias == nullptr ? 0.0 : static_cast<double>(a.bias[at]);
      for (size_t c = 0; c < row.size(); ++c) {
        sum += static_cast<double>(row[c]) * static_cast<double>(x[c]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

std::vector<float> CombineExperts(const std::vector<float>& y, const std::vector<float>& weights,
                                  int64_t n, int32_t n_used) {
  std::vector<float> out;
  const auto used = static_cast<size_t>(n_used);
  const auto cols = static_cast<size_t>(n);
  for (size_t r = 0; r < weights.size() / used; ++r) {
    for (size_t i = 0; i < cols; ++i) {
      double sum = 0.0;
      for (size_t j = 0; j < used; ++j) {
        const size_t slot = r * used + j;
        sum += static_cast<double>(weights[slot]) * static_cast<double>(y[slot * cols + i]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

}  // namespace minfer::kernels::reference
