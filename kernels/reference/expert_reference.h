// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The plain twins of a mixture of experts, written from the definitions: all probabilities, a full
// sort, a list an expert, each slot's product alone. They allocate.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/expert_routing.h"

namespace minfer::kernels::reference {

// One row: softmax over all scores, the best of them, divided by their sum when asked for.
void TopExperts(const TopExpertsArgs& args);

void GroupExperts(const std::vector<int32_t>& ids, int32_t n_experts, std::vector<int32_t>* slots,
                  std::vector<int32_t>* counts);

// y [n_slots, n]: slot s is row s / fan_out of x by the matrix of expert ids[s], plus its bias.
struct ExpertMatMulArgs {
  ElementType type = ElementType::kF32;
  const void* weights = nullptr;  // n_experts matrices of n rows of k values
  const float* bias = nullptr;    // [n_experts, n] or nullptr
  int64_t k = 0;
  int64_t n = 0;
  const float* x = nullptr;
  int32_t fan_out = 1;
};
std::vector<float> ExpertMatMul(const ExpertMatMulArgs& args, const std::vector<int32_t>& ids);

// out [rows, n]: the slots of each row, weighted; slot r * n_used + j is the j-th of row r.
std::vector<float> CombineExperts(const std::vector<float>& y, const std::vector<float>& weights,
                                  int64_t n, int32_t n_used);

}  // namespace minfer::kernels::reference
