// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a row attends, and how the partial results of its stripes are weighed: each counts exp(its
// maximum - the largest), an empty one nothing.
#pragma once

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/common/sink.cuh"

namespace minfer::kernels::cuda {

// What a row attends: cells [low, high).
struct VisibleCells {
  const int32_t* pages;
  int low;
  int high;
};

__device__ __forceinline__ VisibleCells FindVisible(const AttentionArgs& args, int64_t row) {
  const int sequence = args.row_sequence[row];
  const int64_t limit = args.page_table_columns * kKvPageCells;
  int high = args.row_length[row];
  if (sequence < 0 || sequence >= args.page_table_rows || high < 0) high = 0;
  if (high > limit) high = static_cast<int>(limit);
  const int low = args.window > 0 && high > args.window ? high - args.window : 0;
  return {args.page_table + (high > 0 ? sequence * args.page_table_columns : 0), low, high};
}

// A warp's lane s has the weight of stripe s; all lanes what the row is divided by.
struct StripeScale {
  float weight;
  float total;
};

// Lane s has the maximum and the sum of stripe s; -infinity where there is none.
__device__ __forceinline__ StripeScale ScaleStripe(float highest, float total, const float* sinks,
                                                   int head) {
  static_assert(kAttentionStripes == 32);
  const float largest = WarpMax(highest);
  const bool empty = highest == -INFINITY;
  const float weight = empty ? 0.0f : expf(highest - largest);
  const float sum = WarpSum(empty ? 0.0f : weight * total);
  const SinkScale sink = AddSink(sinks, head, largest, sum);
  return {weight * sink.keep, sink.total};
}

}  // namespace minfer::kernels::cuda
