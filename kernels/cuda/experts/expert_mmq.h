// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of experts' slots on the integer tensor cores, from compute capability 8.0 on. The slots
// of an expert lie side by side in tiles of eight, quantised as mmq.h says; a block takes rows of
// one expert's matrix and as many of its tiles as there are, found by the counts on the device. A
// matrix is read once for all slots that its expert has, up to 8 or 64.
#pragma once

#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {

inline constexpr int64_t kMaxExpertSlots = int64_t{1} << 20;

// Slots ordered by expert, as GroupExperts leaves them.
struct ExpertLists {
  const int32_t* slots = nullptr;
  const int32_t* counts = nullptr;
  int32_t n_slots = 0;
  int32_t n_experts = 0;
};

// Bytes of the quantised activations of so many slots, however they fall on the experts.
uint64_t ExpertTileBytes(int64_t n_slots, int64_t n_experts, int64_t k);

struct QuantizeExpertsArgs {
  ExpertLists lists;
  const float* x = nullptr;  // [n_slots / fan_out, k], at a multiple of 16 bytes
  int64_t k = 0;
  int32_t fan_out = 1;
  void* out = nullptr;  // ExpertTileBytes
  FaultWord fault;      // of counts and slots that do not fit
};
KernelStatus QuantizeExperts(const QuantizeExpertsArgs& args, KernelStream stream);

struct ExpertMmqArgs {
  ElementType type = ElementType::kQ8_0;  // one that HasMmq says yes to
  ExpertLists lists;
  const void* weights = nullptr;  // n_experts matrices of n rows in the layout of row_layout.h
  const void* up = nullptr;       // with a gate the matrices of up; weights are the gate's
  MmvqGate gate = MmvqGate::kNone;
  const float* bias = nullptr;  // a row of n values an expert, in that layout too; not with a gate
  int64_t n = 0;
  int64_t k = 0;
  const void* activations = nullptr;  // by QuantizeExperts
  float* out = nullptr;               // [n_slots, n]
  int32_t shared_opt_in_bytes = 0;    // shared memory that a block may ask for
};
// A slot's result has the same bits whatever other slots there are; with a gate those of the two
// products and the activation after them.
KernelStatus ExpertMmq(const ExpertMmqArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
