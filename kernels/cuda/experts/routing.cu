// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/experts/experts.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kRowWarps = 4;
constexpr int kGroupThreads = 1024;
constexpr int kThreads = 256;

// Orders experts: the higher score first, of equal ones the lower id, NaN last. Never 0.
__device__ __forceinline__ uint64_t RankOf(float score, int id) {
  uint32_t bits = score == 0.0f ? 0u : __float_as_uint(score);
  bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  if (isnan(score)) bits = 0;
  return static_cast<uint64_t>(bits) << 32 | (0xffffffffu - static_cast<uint32_t>(id));
}

__device__ __forceinline__ uint64_t WarpMaxRank(uint64_t x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const uint64_t other = __shfl_xor_sync(0xffffffffu, x, offset);
    x = other > x ? other : x;
  }
  return x;
}

// A warp a row: the best expert that is left, n_used times. Lane l looks at experts l, l + 32, ...
__global__ void __launch_bounds__(kRowWarps* kWarp) TopExpertsKernel(TopExpertsArgs args) {
  static_assert(kMaxExperts / kWarp <= 32);
  const int lane = threadIdx.x % kWarp;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kWarp;
  if (row >= args.rows) return;
  const float* scores = args.scores + row * args.n_experts;
  int32_t* ids = args.ids + row * args.n_used;
  uint32_t taken = 0;
  double highest = 0.0;
  double sum = 0.0;
  for (int j = 0; j < args.n_used; ++j) {
    uint64_t best = 0;
    for (int e = lane, i = 0; e < args.n_experts; e += kWarp, ++i) {
      if ((taken >> i & 1u) != 0) continue;
      const uint64_t rank = RankOf(scores[e], e);
      best = rank > best ? rank : best;
    }
    best = WarpMaxRank(best);
    const int id = static_cast<int>(0xffffffffu - static_cast<uint32_t>(best));
    if (id % kWarp == lane) taken |= 1u << (id / kWarp);
    if (j == 0) highest = scores[id];
    if (args.normalise) sum += exp(static_cast<double>(scores[id]) - highest);
    if (lane == 0) ids[j] = id;
  }
  if (!args.normalise) {
    for (int e = lane; e < args.n_experts; e += kWarp) {
      sum += exp(static_cast<double>(scores[e]) - highest);
    }
    sum = WarpSum(sum);
  }
  __syncwarp();
  for (int j = lane; j < args.n_used; j += kWarp) {
    const double power = exp(static_cast<double>(scores[ids[j]]) - highest);
    args.weights[row * args.n_used + j] =
        static_cast<float>(power / sum * static_cast<double>(args.factor));
  }
}

// Numbers of slots that a block counts apart: of each expert in each piece of the slots.
constexpr int kGroupCounters = 8192;
static_assert(kMaxExperts <= kGroupCounters);

// A warp walks through its piece of the slots: function(slot, expert, rank, peers) for each slot of
// an expert, `rank` the slot's place among the `peers` lanes that have the same one.
template <typename Function>
__device__ __forceinline__ void ForEachSlot(const int32_t* ids, int begin, int end, int lane,
                                            const Function& function) {
  const auto load = [&](int s) { return s < end ? ids[s] : -1; };
  int next = load(begin + lane);
  for (int base = begin; base < end; base += kWarp) {
    const int id = next;
    next = load(base + kWarp + lane);
    const unsigned peers = __match_any_sync(0xffffffffu, id);
    const int rank = __popc(peers & ((1u << lane) - 1u));
    function(base + lane, id, rank, __popc(peers));
    __syncwarp();
  }
}

// One block. Each warp counts a piece of the slots; then the pieces of an expert, and the experts,
// follow one another, and each warp puts its slots where they belong.
__global__ void __launch_bounds__(kGroupThreads)
    GroupExpertsKernel(const int32_t* ids, int n_slots, int n_experts, int32_t* slots,
                       int32_t* counts, FaultWord fault) {
  __shared__ int places[kGroupCounters];  // piece by piece, one an expert
  __shared__ int numbers[kMaxExperts];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int pieces = min(kGroupThreads / kWarp, kGroupCounters / n_experts);
  const int piece = ((n_slots + pieces - 1) / pieces + kWarp - 1) / kWarp * kWarp;
  const int begin = min(n_slots, warp * piece);
  const int end = warp < pieces ? min(n_slots, begin + piece) : begin;
  int* mine = places + (warp < pieces ? warp : 0) * n_experts;
  for (int i = threadIdx.x; i < pieces * n_experts; i += kGroupThreads) places[i] = 0;
  __syncthreads();
  ForEachSlot(ids, begin, end, lane, [&](int slot, int id, int rank, int peers) {
    if (id >= 0 && id < n_experts) {
      if (rank == 0) mine[id] += peers;
    } else if (slot < end && fault.word != nullptr) {
      *fault.word = fault.value;
    }
  });
  __syncthreads();
  for (int e = threadIdx.x; e < n_experts; e += kGroupThreads) {
    int total = 0;
    for (int p = 0; p < pieces; ++p) {
      const int number = places[p * n_experts + e];
      places[p * n_experts + e] = total;
      total += number;
    }
    numbers[e] = total;
    counts[e] = total;
  }
  __syncthreads();
  if (warp == 0) {
    int total = 0;
    for (int base = 0; base < n_experts; base += kWarp) {
      const int e = base + lane;
      const int number = e < n_experts ? numbers[e] : 0;
      int sum = number;
#pragma unroll
      for (int offset = 1; offset < kWarp; offset *= 2) {
        const int below = __shfl_up_sync(0xffffffffu, sum, offset);
        if (lane >= offset) sum += below;
      }
      if (e < n_experts) numbers[e] = total + sum - number;  // where the expert begins
      total += __shfl_sync(0xffffffffu, sum, kWarp - 1);
    }
  }
  __syncthreads();
  ForEachSlot(ids, begin, end, lane, [&](int slot, int id, int rank, int peers) {
    const bool known = id >= 0 && id < n_experts;
    if (known) slots[numbers[id] + mine[id] + rank] = slot;
    __syncwarp();
    if (known && rank == 0) mine[id] += peers;
  });
}

__global__ void __launch_bounds__(kThreads)
    CombineExpertsKernel(const float* y, const float* weights, int64_t cols, int n_used,
                         float* out) {
  const int64_t row = blockIdx.x;
  const int64_t c = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (c >= cols) return;
  const float* from = y + row * n_used * cols + c;
  const float* w = weights + row * n_used;
  float sum = from[0] * w[0];
  for (int j = 1; j < n_used; ++j) sum = fmaf(from[j * cols], w[j], sum);
  out[row * cols + c] = sum;
}

__global__ void __launch_bounds__(kThreads)
    GateRowsKernel(const float* x, const float* gate, int64_t cols, float* out) {
  const int64_t row = blockIdx.x;
  const int64_t c = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (c >= cols) return;
  const auto sigmoid = static_cast<float>(1.0 / (1.0 + exp(-static_cast<double>(gate[row]))));
  out[row * cols + c] = x[row * cols + c] * sigmoid;
}

__global__ void __launch_bounds__(kThreads)
    ClampedSwigluKernel(const float* gate, const float* up, int64_t count, float alpha, float limit,
                        float* out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += step) {
    const float g = gate[i] > limit ? limit : gate[i];  // a NaN stays
    const float low = up[i] > limit ? limit : up[i];
    const float u = low < -limit ? -limit : low;
    out[i] = g / (1.0f + expf(-(alpha * g))) * (u + 1.0f);
  }
}

// Blocks for rows of `cols` values, one thread a value.
KernelStatus RowGrid(int64_t rows, int64_t cols, LaunchShape* shape) {
  const int64_t grid_y = CeilDiv(cols, kThreads);
  if (rows < 0 || cols <= 0 || rows > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  *shape = {dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y)), dim3(kThreads)};
  return KernelStatus::kOk;
}

}  // namespace

KernelStatus TopExperts(const TopExpertsArgs& args, cudaStream_t stream) {
  const int64_t grid = CeilDiv(args.rows, kRowWarps);
  if (args.rows < 0 || args.n_experts > kMaxExperts || args.n_used <= 0 ||
      args.n_used > args.n_experts || grid > kMaxGridX) {
    return KernelStatus::kBadShape;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  return Launch(TopExpertsKernel, {dim3(static_cast<unsigned>(grid)), dim3(kRowWarps * kWarp)},
                stream, args);
}

KernelStatus GroupExperts(const int32_t* ids, int64_t n_slots, int32_t n_experts, int32_t* slots,
                          int32_t* counts, FaultWord fault, cudaStream_t stream) {
  if (n_slots < 0 || n_slots > INT32_MAX - kWarp || n_experts <= 0 || n_experts > kMaxExperts) {
    return KernelStatus::kBadShape;
  }
  return Launch(GroupExpertsKernel, {dim3(1), dim3(kGroupThreads)}, stream, ids,
                static_cast<int>(n_slots), n_experts, slots, counts, fault);
}

KernelStatus CombineExperts(const float* y, const float* weights, int64_t rows, int64_t cols,
                            int32_t n_used, float* out, cudaStream_t stream) {
  LaunchShape shape;
  const KernelStatus status = RowGrid(rows, cols, &shape);
  if (status != KernelStatus::kOk || rows == 0) return status;
  if (n_used <= 0) return KernelStatus::kBadShape;
  return Launch(CombineExpertsKernel, shape, stream, y, weights, cols, n_used, out);
}

KernelStatus GateRows(const float* x, const float* gate, int64_t rows, int64_t cols, float* out,
                      cudaStream_t stream) {
  LaunchShape shape;
  const KernelStatus status = RowGrid(rows, cols, &shape);
  if (status != KernelStatus::kOk || rows == 0) return status;
  return Launch(GateRowsKernel, shape, stream, x, gate, cols, out);
}

KernelStatus ClampedSwiglu(const float* gate, const float* up, int64_t count, float alpha,
                           float limit, float* out, cudaStream_t stream) {
  if (count < 0) return KernelStatus::kBadShape;
  if (count == 0) return KernelStatus::kOk;
  const int64_t grid = std::min<int64_t>(CeilDiv(count, kThreads), 1 << 16);
  return Launch(ClampedSwigluKernel, {dim3(static_cast<unsigned>(grid)), dim3(kThreads)}, stream,
                gate, up, count, alpha, limit, out);
}

}  // namespace minfer::kernels::cuda
