// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Launches that wait for the node after theirs, to be one with its launch (cuda_fuse.cc). At most
// one kind waits at a time, but for the rotation of Q, which may belong to a tail.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/buffer.h"
#include "graph/graph.h"
#include "kernels/cuda/experts/expert_mmq.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/transfer/step_begin.h"
#include "kernels/cuda/vector/vector.h"

namespace minfer {

// A product that waits for what is added to it; where all rows of both are selected before, for
// those selections too.
struct HeldSum {
  ValueId value = kNoId;
  kernels::cuda::MmvqArgs product;
  int selections = 0;
  ValueId selected = kNoId;  // of what is added
  BufferRange selected_from;
};

// A norm that the product which reads it takes.
struct HeldNorm {
  ValueId value = kNoId;
  kernels::cuda::MmvqNorm norm;
};

// The gate of experts, then up too: both wait for their activation.
struct HeldExperts {
  bool has_up = false;
  kernels::cuda::ExpertMmqArgs args;
};

// A norm over the heads of Q or K.
struct HeadNorm {
  const float* x = nullptr;
  const float* weight = nullptr;
  float* out = nullptr;
  int64_t heads = 0;  // of all rows
  int64_t dim = 0;
  float eps = 0.0f;
};

// What waits for attention: the norms of Q and K, or neither, then the store.
struct HeldTail {
  int n_norms = 0;
  HeadNorm norms[2];
  bool stores = false;
  kernels::cuda::KvStoreArgs store;
};

struct HeldLaunches {
  std::optional<kernels::cuda::StepBeginArgs> begin;  // for the RoPE table
  std::optional<HeldSum> sum;
  std::optional<HeldNorm> norm;
  std::optional<HeldExperts> experts;
  std::optional<kernels::cuda::RopeArgs> rope;  // of Q, for the store
  std::optional<HeldTail> tail;

  bool any() const { return begin || sum || norm || experts || rope || tail; }
};

}  // namespace minfer
