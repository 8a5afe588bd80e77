// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The end of an item of the streamed MMVQ: sums of its warps, then bias, addition or activation,
// and where asked the results of a gate quantised for the product that reads them.
#pragma once

#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"
#include "kernels/cuda/mmvq/stream_copy.cuh"

namespace minfer::kernels::cuda {

// One sum of an item over its warps, in their order.
template <int kColumns>
__device__ __forceinline__ float WarpsSum(const float* partial, int warps, int column, int row) {
  float parts[kStreamItemWarps];
#pragma unroll
  for (int w = 0; w < kStreamItemWarps; ++w) {
    parts[w] = w < warps ? partial[(w * kColumns + column) * kStreamRows + row] : 0.0f;
  }
  float sum = parts[0];
#pragma unroll
  for (int w = 1; w < kStreamItemWarps; ++w) sum += parts[w];
  return sum;
}

// The threads that finish an item: results first, first + step, ... are a thread's, up to kEach.
struct Finishers {
  int first;
  int step;
};

__device__ __forceinline__ int PartOf(const StreamArgs& args, int item) {
  int p = 0;
  while (p + 1 < args.n_parts && item >= args.first_item[p + 1]) ++p;
  return p;
}

// What is added to the results, loaded ahead: the bias with the weights, the other value once the
// kernels before are complete.
template <int kEach>
struct Addends {
  float bias[kEach] = {};
  float add[kEach] = {};

  __device__ __forceinline__ void LoadBias(const StreamArgs& args, int item, Finishers by) {
    const int p = PartOf(args, item);
    const MmvqPart& part = args.parts[p];
    if (part.bias == nullptr) return;
    const int64_t from = int64_t{item - args.first_item[p]} * kStreamRows;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t r = from + (by.first + j * by.step) % kStreamRows;
      bias[j] = r < part.n ? part.bias[r] : 0.0f;
    }
  }

  __device__ __forceinline__ void LoadAdd(const StreamArgs& args, int item, Finishers by) {
    const int p = PartOf(args, item);
    const MmvqPart& part = args.parts[p];
    if (part.add == nullptr) return;
    const int64_t from = int64_t{item - args.first_item[p]} * kStreamRows;
    const int results = kStreamRows * args.rows / (args.residual ? 2 : 1);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int i = by.first + j * by.step;
      const int64_t r = from + i % kStreamRows;
      const bool inside = i < results && r < part.n;
      add[j] = inside ? part.add[i / kStreamRows * part.out_stride + r] : 0.0f;
    }
  }
};

template <int kColumns, int kEach>
__device__ __forceinline__ void FinishItem(const StreamArgs& args, int item, const float* partial,
                                           const Addends<kEach>& addends, Finishers by) {
  const int planes = args.residual ? 2 : 1;
  const int p = PartOf(args, item);
  const MmvqPart& part = args.parts[p];
  const int64_t from = int64_t{item - args.first_item[p]} * kStreamRows;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int i = by.first + j * by.step;
    const int64_t r = from + i % kStreamRows;
    const int m = i / kStreamRows;
    if (i >= kStreamRows * args.rows / planes || r >= part.n) continue;
    float value = WarpsSum<kColumns>(partial, args.warps, m * planes, i % kStreamRows);
    if (args.residual) {
      value += WarpsSum<kColumns>(partial, args.warps, m * planes + 1, i % kStreamRows);
    }
    if (part.bias != nullptr) value += addends.bias[j];
    if (part.add != nullptr) value += addends.add[j];
    part.out[m * part.out_stride + r] = value;
  }
}

// The result of one row of activations that a lane of a warp writes, found ahead: where it goes and
// what is added. Adding -0 changes nothing.
struct OneResult {
  float* out = nullptr;
  const float* add_from = nullptr;
  float bias = -0.0f;
  float add = -0.0f;

  __device__ __forceinline__ void LoadBias(const StreamArgs& args, int item, Finishers by) {
    const int p = PartOf(args, item);
    const MmvqPart& part = args.parts[p];
    const int r = (item - args.first_item[p]) * kStreamRows + by.first;
    const bool inside = by.first < kStreamRows && r < static_cast<int>(part.n);
    out = inside ? part.out + r : nullptr;
    add_from = inside && part.add != nullptr ? part.add + r : nullptr;
    bias = inside && part.bias != nullptr ? part.bias[r] : -0.0f;
  }

  __device__ __forceinline__ void LoadAdd(const StreamArgs&, int, Finishers) {
    add = add_from != nullptr ? *add_from : -0.0f;
  }
};

// A lane a row, and with two planes the other half of the warp the second one.
template <int kColumns>
__device__ __forceinline__ void FinishItem(const StreamArgs& args, int, const float* partial,
                                           const OneResult& result, Finishers by) {
  float value = WarpsSum<kColumns>(partial, args.warps, 0, by.first % (kColumns * kStreamRows));
  if constexpr (kColumns == 2) value += __shfl_down_sync(0xffffffffu, value, kStreamRows);
  value += result.bias;
  value += result.add;
  if (result.out != nullptr) *result.out = value;
}

// Eight results a row of activations; they go to `acts`, rows of kPlaneGroup, too.
inline constexpr int kPlaneGroup = 32;

template <int kColumns>
__device__ __forceinline__ void FinishGated(const StreamArgs& args, int item, const float* partial,
                                            float* acts, Finishers by) {
  const MmvqPart& up = args.parts[1];
  for (int i = by.first; i < 8 * args.rows; i += by.step) {
    const int64_t r = int64_t{item} * 8 + i % 8;
    if (r >= up.n) continue;
    const float gate = WarpsSum<kColumns>(partial, args.warps, i / 8, i % 8);
    const float value = WarpsSum<kColumns>(partial, args.warps, i / 8, i % 8 + 8);
    const float act = args.gate == MmvqGate::kSilu ? Silu(gate) : GeluTanh(gate);
    const float result = act * value;
    if (up.out != nullptr) up.out[i / 8 * up.out_stride + r] = result;
    if (args.planes.out != nullptr) acts[i / 8 * kPlaneGroup + r % kPlaneGroup] = result;
  }
}

// The same for one row, by a warp: a lane a row of the item.
__device__ __forceinline__ void FinishGatedRow(const StreamArgs& args, int item,
                                               const float* partial, float* acts, int lane) {
  const MmvqPart& up = args.parts[1];
  const float gate = WarpsSum<1>(partial, args.warps, 0, lane % kStreamRows);
  const float value = __shfl_down_sync(0xffffffffu, gate, 8);
  const int r = item * 8 + lane;
  if (lane >= 8 || r >= static_cast<int>(up.n)) return;
  const float act = args.gate == MmvqGate::kSilu ? Silu(gate) : GeluTanh(gate);
  const float result = act * value;
  if (up.out != nullptr) up.out[r] = result;
  if (args.planes.out != nullptr) acts[r % kPlaneGroup] = result;
}

// Block b of 32 results of each row, a warp a row; rows past the last are zeros.
__device__ __forceinline__ void QuantizeActs(const StreamArgs& args, int64_t b, const float* acts,
                                             int warp, int warps, int lane) {
  const int rows =
      args.planes.columns == 0 ? args.rows : args.planes.columns / (args.planes.residual ? 2 : 1);
  for (int row = warp; row < rows; row += warps) {
    const float value = row < args.rows ? acts[row * kPlaneGroup + lane] : 0.0f;
    QuantizeToPlanes(args.planes, args.parts[1].n, row, b, lane, value);
  }
}

}  // namespace minfer::kernels::cuda
