// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention of many rows on tensor cores: tiles of 64 rows of one head read each page once. Queries
// and weights are rounded to halves, sums are f32. From compute capability 8.0 on, for f16 and q8_0
// stores with heads of 64, 80, 96, 112, 128 or 256 (K and V alike).
#pragma once

#include "kernels/cuda/attention/attention.h"

namespace minfer::kernels::cuda {

bool HasAttentionPrefill(KvFormat k_format, KvFormat v_format, int32_t head_dim_k,
                         int32_t head_dim_v);

// Shared memory that a block needs at most, for devices that have less.
int AttentionPrefillSharedBytes(int32_t head_dim);

// args.partials is not used.
KernelStatus AttentionPrefill(const AttentionArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
