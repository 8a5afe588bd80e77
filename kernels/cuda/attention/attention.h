// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention over pages of any format, head dimension and grouping, with online softmax. Rows are
// computed one by one; where they are few, stripes of their pages are computed apart and combined.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/common/kv_layout.h"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {

// Stripes of a decode row: one number for every length, so that captured steps stay valid and
// results do not depend on a choice.
inline constexpr int kAttentionStripes = 32;
inline constexpr int kMaxHeadDim = 512;

struct AttentionArgs {
  KvSide k;
  KvSide v;
  const float* q = nullptr;  // rows of n_heads * k.dim values
  float* out = nullptr;      // rows of n_heads * v.dim values
  int64_t rows = 0;
  int32_t n_heads = 0;
  int32_t n_kv_heads = 0;
  float scale = 1.0f;
  float softcap = 0.0f;
  int32_t window = 0;
  const float* sinks = nullptr;  // [n_heads]: one more score a head, without a value; or nullptr
  const int32_t* page_table = nullptr;
  int64_t page_table_columns = 0;
  int64_t page_table_rows = 0;
  const int32_t* row_sequence = nullptr;  // below 0: the row sees nothing and is 0
  const int32_t* row_length = nullptr;    // cells seen, own included
  float* partials = nullptr;              // AttentionPartialFloats, or nullptr: no stripes
  // Of striped rows with v.dim a multiple of 32; `out` may be nullptr then.
  PlaneTarget planes;
};

// Floats of the partial results of `rows` striped rows.
int64_t AttentionPartialFloats(int64_t rows, int32_t n_heads, int32_t head_dim_v);

KernelStatus Attention(const AttentionArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
