// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "result.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>

namespace bench {
namespace {

// Between neighbours, as most statistics programs do.
double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

Spread SpreadOf(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {Quantile(samples, 0.5), Quantile(samples, 0.25), Quantile(samples, 0.75)};
}

std::string TokenHash(const Row& row) {
  if (row.tokens.empty()) return {};
  const std::string_view bytes(reinterpret_cast<const char*>(row.tokens.data()),
                               row.tokens.size() * sizeof(mf_token));
  char text[32];
  std::snprintf(text, sizeof(text), "%08zx", std::hash<std::string_view>()(bytes) & 0xffffffff);
  return text;
}

}  // namespace bench
