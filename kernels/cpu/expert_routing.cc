// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/expert_routing.h"

#include <cmath>

namespace minfer::kernels {
namespace {

// Whether score a goes before score b; equal ones are told apart by who came first.
bool Better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

// Fills ids with the n_used best, kept in order while the scores pass by.
void Choose(const TopExpertsArgs& a) {
  int32_t found = 0;
  for (int32_t e = 0; e < a.n_experts; ++e) {
    if (found == a.n_used && !Better(a.scores[e], a.scores[a.ids[found - 1]])) continue;
    int32_t place = found < a.n_used ? found++ : found - 1;
    for (; place > 0 && Better(a.scores[e], a.scores[a.ids[place - 1]]); --place) {
      a.ids[place] = a.ids[place - 1];
    }
    a.ids[place] = e;
  }
}

}  // namespace

KernelStatus TopExperts(const TopExpertsArgs& a) {
  if (a.n_used <= 0 || a.n_used > a.n_experts) return KernelStatus::kBadShape;
  Choose(a);
  const double highest = a.scores[a.ids[0]];
  const auto power = [&](int32_t e) {
    return std::exp(static_cast<double>(a.scores[e]) - highest);
  };
  double sum = 0.0;
  if (a.normalise) {
    for (int32_t j = 0; j < a.n_used; ++j) sum += power(a.ids[j]);
  } else {
    for (int32_t e = 0; e < a.n_experts; ++e) sum += power(e);
  }
  for (int32_t j = 0; j < a.n_used; ++j) {
    a.weights[j] = static_cast<float>(power(a.ids[j]) / sum * static_cast<double>(a.factor));
  }
  return KernelStatus::kOk;
}

KernelStatus GroupExperts(const int32_t* ids, int64_t n_slots, int32_t n_experts, int32_t* slots,
                          int32_t* counts) {
  if (n_experts <= 0 || n_slots < 0 || n_slots > INT32_MAX) return KernelStatus::kBadShape;
  for (int32_t e = 0; e < n_experts; ++e) counts[e] = 0;
  for (int64_t s = 0; s < n_slots; ++s) {
    if (ids[s] < 0 || ids[s] >= n_experts) return KernelStatus::kBadShape;
    ++counts[ids[s]];
  }
  // counts holds, in turn: the place where each expert's slots begin, where they end, their number.
  int32_t begin = 0;
  for (int32_t e = 0; e < n_experts; ++e) {
    const int32_t count = counts[e];
    counts[e] = begin;
    begin += count;
  }
  for (int64_t s = 0; s < n_slots; ++s) slots[counts[ids[s]]++] = static_cast<int32_t>(s);
  for (int32_t e = n_experts - 1; e > 0; --e) counts[e] -= counts[e - 1];
  return KernelStatus::kOk;
}

float Sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
}

}  // namespace minfer::kernels
