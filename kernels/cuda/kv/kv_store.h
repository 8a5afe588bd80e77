// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Stores rows of K and V in their cells, K rotated on the way where asked.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/common/kv_layout.h"
#include "kernels/cuda/vector/vector.h"

namespace minfer::kernels::cuda {

struct KvStoreArgs {
  KvSide k_side;
  KvSide v_side;
  int32_t n_kv_heads = 0;
  const float* k = nullptr;  // rows of n_kv_heads * dim values
  const float* v = nullptr;
  const int32_t* cells = nullptr;  // page * 64 + slot; a cell of no page is not stored
  int64_t rows = 0;
  // Where K is rotated first (vector.h, RopeArgs); nullptr: stored as it is.
  const float* cos_sin = nullptr;
  int32_t rope_dim = 0;
  bool neox = false;
  // Rows of Q that are rotated by the same launch; none where rope.x is nullptr. Heads up to
  // kMaxStoredQDim.
  RopeArgs rope;
};

inline constexpr int kMaxStoredQDim = 512;

KernelStatus KvStore(const KvStoreArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
