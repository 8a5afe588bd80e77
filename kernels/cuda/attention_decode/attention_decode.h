// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention of rows that each see a whole context (decode rows, short prompts), on tensor cores
// that keep the precision of f32: what is multiplied with the halves of the store is two halves,
// a value and what that leaves out. From compute capability 8.0 on, for f16 stores with heads of
// 16, 32, 64, 80, 96, 112, 128 or 256 (K and V alike).
//
// A launch can also do what stands before and after it: norms and rotation of Q and K and the store
// of K and V, the sum of the stripes of long rows, and the quantisation of the result. Each of
// these has the bits of its own launch.
#pragma once

#include "kernels/cuda/attention/attention.h"

namespace minfer::kernels::cuda {

bool HasAttentionDecode(KvFormat k_format, KvFormat v_format, int32_t head_dim_k,
                        int32_t head_dim_v);

// What becomes of a row's Q and K before they are attended to, and of K and V.
struct DecodeTail {
  const float* k = nullptr;  // rows of n_kv_heads * dim values; nullptr: all of it is done already
  const float* v = nullptr;
  const int32_t* cells = nullptr;  // as KvStoreArgs has them; the row's own is its last one
  // Weights of norms over each head, RmsNorm of vector.h; both or nullptr. Aligned to 16 bytes.
  const float* q_norm = nullptr;
  const float* k_norm = nullptr;
  float q_eps = 0.0f;
  float k_eps = 0.0f;
  // Rotation by this table; nullptr: none.
  const float* cos_sin = nullptr;
  int32_t rope_dim = 0;
  bool neox = false;
};

struct AttentionDecodeArgs {
  AttentionArgs attention;  // partials: AttentionPartialFloats; all aligned to 16 bytes
  // With a tail no two rows are of one sequence, and neither `out` nor the partial results lie over
  // what the tail reads, unless out is q.
  DecodeTail tail;
  // The page table, lengths and cells that rows have in the store, other than their own, were
  // complete before the launch ahead of this one began, and so were sequences and `tail.cells`:
  // they are read before that launch is complete. With a tail only. A launch that is not settled
  // waits before it lets the next one start: what was complete before it is settled for all behind.
  bool settled = false;
  // Numbers of finished blocks, AttentionDecodeCounters of them, all 0 before and after the launch;
  // nullptr: another launch adds up the stripes.
  uint32_t* counters = nullptr;
};

int64_t AttentionDecodeCounters(int64_t rows, int32_t n_heads, int32_t n_kv_heads);

KernelStatus AttentionDecode(const AttentionDecodeArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
