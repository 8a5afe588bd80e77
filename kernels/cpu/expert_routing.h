// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Routing of a mixture of experts: which experts a row goes to, and the rows of each expert side by
// side. Plain C++, the same in every unit: its cost is nothing beside that of the experts.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"

namespace minfer::kernels {

struct TopExpertsArgs {
  const float* scores = nullptr;  // [n_experts] of one row
  int32_t n_experts = 0;
  int32_t n_used = 0;      // from 1 to n_experts
  bool normalise = false;  // softmax over the chosen scores; else over all
  float factor = 1.0f;     // the weights are multiplied by it
  int32_t* ids =
      nullptr;  // [n_used], the highest score first; of equal ones the lower id; NaN last
  float* weights = nullptr;  // [n_used]
};
KernelStatus TopExperts(const TopExpertsArgs& args);

// slots: the indices 0 .. n_slots - 1 ordered by ids[slot], those of one expert in ascending order;
// counts: slots of each expert. kBadShape when an id is no expert.
KernelStatus GroupExperts(const int32_t* ids, int64_t n_slots, int32_t n_experts, int32_t* slots,
                          int32_t* counts);

// 1 / (1 + e^-x), computed in double and rounded once.
float Sigmoid(float x);

}  // namespace minfer::kernels
