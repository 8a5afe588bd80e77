// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixture of experts: which experts a row goes to, the slots of each expert side by side, and the
// products of each expert's slots with its matrix. How many slots an expert has is read on the
// device; grids depend on the number of rows alone, so that recorded launches stay valid.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kMaxExperts = 1024;

// Where a kernel writes `value` when ids, counts or slots do not fit; it reads nothing by them
// then. The word lies in host memory that the device sees.
struct FaultWord {
  int32_t* word = nullptr;
  int32_t value = 0;
};

struct TopExpertsArgs {
  const float* scores = nullptr;  // [rows, n_experts]
  int64_t rows = 0;
  int32_t n_experts = 0;
  int32_t n_used = 0;
  bool normalise = false;    // softmax over the chosen scores; else over all
  float factor = 1.0f;       // the weights are multiplied by it
  int32_t* ids = nullptr;    // [rows, n_used], best first; of equal ones the lower id; NaN last
  float* weights = nullptr;  // [rows, n_used]
};
KernelStatus TopExperts(const TopExpertsArgs& args, cudaStream_t stream);

// slots: 0 .. n_slots - 1 ordered by ids[slot], those of one expert ascending; counts: slots of
// each expert.
KernelStatus GroupExperts(const int32_t* ids, int64_t n_slots, int32_t n_experts, int32_t* slots,
                          int32_t* counts, FaultWord fault, cudaStream_t stream);

struct ExpertMatMulArgs {
  ElementType type = ElementType::kF32;
  const void* weights = nullptr;  // n_experts matrices of n rows in the layout of row_layout.h
  const float* bias = nullptr;    // a row of n values an expert, in that layout too; or nullptr
  int64_t n = 0;
  int64_t k = 0;
  int32_t n_experts = 0;
  const float* x = nullptr;  // [n_slots / fan_out, k]
  int32_t fan_out = 1;
  const int32_t* slots = nullptr;
  const int32_t* counts = nullptr;
  int64_t n_slots = 0;
  float* out = nullptr;  // [n_slots, n]
  FaultWord fault;
};
// A slot's result has the same bits whatever other slots its expert has.
KernelStatus ExpertMatMul(const ExpertMatMulArgs& args, cudaStream_t stream);

// out[r] = sum over j of y[r * n_used + j] * weights[r, j], rows of `cols` values.
KernelStatus CombineExperts(const float* y, const float* weights, int64_t rows, int64_t cols,
                            int32_t n_used, float* out, cudaStream_t stream);

// out = x * sigmoid(gate of the row); out may be x.
KernelStatus GateRows(const float* x, const float* gate, int64_t rows, int64_t cols, float* out,
                      cudaStream_t stream);

// g sigmoid(alpha g) (u + 1), g = min(gate, limit), u = up within +-limit; out may be either input.
KernelStatus ClampedSwiglu(const float* gate, const float* up, int64_t count, float alpha,
                           float limit, float* out, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
