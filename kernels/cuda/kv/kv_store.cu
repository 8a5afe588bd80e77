// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/kv/kv_store.h"

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
// A block of q8_0 whose largest magnitude is below this has a scale that no half holds.
constexpr float kSmallest = 0x1p-20f;

// The warp's 32 values, of which those with `inside` count, as q8_0.
__device__ __forceinline__ void StoreQ8(float x, bool inside, int lane, int8_t* to, bool writes,
                                        __half* scale) {
  const float value = inside ? x : 0.0f;
  const float largest = WarpMax(fabsf(value));
  const bool finite = __all_sync(0xffffffffu, isfinite(value));
  const bool zero = !finite || largest < kSmallest;
  const int q = zero ? 0 : __float2int_rn(value * (127.0f / largest));
  if (writes) *to = static_cast<int8_t>(q);
  if (lane != 0) return;
  *scale = !finite ? __ushort_as_half(0x7e00)
           : zero  ? __ushort_as_half(0)
                   : ClampedHalf(largest / 127.0f);
}

// Value d of a head for lane's block; x of a lane outside the dimension is not used.
__device__ __forceinline__ void StoreValue(const KvSide& side, int64_t cell, int head, int block,
                                           int lane, float x) {
  const int d = block * kKvBlock + lane;
  const int padded = KvPadded(side.dim);
  uint8_t* slab = side.pages + cell / kKvPageCells * side.page_bytes +
                  head * KvSlabBytes(side.format, side.dim);
  const int64_t slot = cell % kKvPageCells;
  const int64_t at = slot * padded + d;
  const bool inside = d < side.dim;
  if (side.format == KvFormat::kQ8_0) {
    auto* scales = reinterpret_cast<__half*>(slab + KvPlaneBytes(side.format, side.dim));
    StoreQ8(x, inside, lane, reinterpret_cast<int8_t*>(slab) + at, d < padded,
            scales + slot * KvBlocks(side.dim) + block);
    return;
  }
  if (d >= padded) return;
  const float value = inside ? x : 0.0f;
  if (side.format == KvFormat::kF32) {
    reinterpret_cast<float*>(slab)[at] = value;
  } else {
    reinterpret_cast<__half*>(slab)[at] = ClampedHalf(value);
  }
}

// A head of Q by a warp, all of it read before anything is written: the output may be the input.
__device__ __forceinline__ void RotateHead(const RopeArgs& args, int64_t row, int head, int lane) {
  constexpr int kEach = kMaxStoredQDim / kWarp;
  const int64_t at = (row * args.n_heads + head) * args.head_dim;
  const float* cos_sin = args.cos_sin + row * args.rope_dim;
  float values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int d = lane + i * kWarp;
    if (d >= args.head_dim) break;
    values[i] = Rotated(args.x + at, cos_sin, d, args.rope_dim, args.neox);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int d = lane + i * kWarp;
    // Both loops stop at the same d. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
    if (d < args.head_dim) args.out[at + d] = values[i];
  }
}

// A warp a block of 32 values of one head; first all of K, then all of V. Then a warp a head of Q.
__global__ void __launch_bounds__(kThreads) KvStoreKernel(KvStoreArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int lane = threadIdx.x % kWarp;
  const int64_t row = blockIdx.x;
  int task = blockIdx.y * kWarps + threadIdx.x / kWarp;
  const int k_blocks = KvBlocks(args.k_side.dim);
  const int v_blocks = KvBlocks(args.v_side.dim);
  const int first_q = args.n_kv_heads * (k_blocks + v_blocks);
  if (task >= first_q) {
    if (task - first_q < args.rope.n_heads) RotateHead(args.rope, row, task - first_q, lane);
    return;
  }
  const int64_t cell = args.cells[row];
  const int64_t page = cell / kKvPageCells;
  if (cell < 0 || page >= args.k_side.n_pages || page >= args.v_side.n_pages) return;
  if (task < args.n_kv_heads * k_blocks) {
    const int head = task / k_blocks;
    const int block = task % k_blocks;
    const int d = block * kKvBlock + lane;
    const float* x = args.k + (row * args.n_kv_heads + head) * args.k_side.dim;
    float value = 0.0f;
    if (d < args.k_side.dim) {
      value = args.cos_sin == nullptr
                  ? x[d]
                  : Rotated(x, args.cos_sin + row * args.rope_dim, d, args.rope_dim, args.neox);
    }
    StoreValue(args.k_side, cell, head, block, lane, value);
    return;
  }
  task -= args.n_kv_heads * k_blocks;
  const int head = task / v_blocks;
  const int block = task % v_blocks;
  const int d = block * kKvBlock + lane;
  const float* x = args.v + (row * args.n_kv_heads + head) * args.v_side.dim;
  StoreValue(args.v_side, cell, head, block, lane, d < args.v_side.dim ? x[d] : 0.0f);
}

}  // namespace

KernelStatus KvStore(const KvStoreArgs& args, KernelStream stream) {
  const bool with_q = args.rope.x != nullptr;
  if (with_q && (args.rope.n_heads <= 0 || args.rope.rows != args.rows ||
                 args.rope.head_dim > kMaxStoredQDim || args.rope.rope_dim % 2 != 0 ||
                 args.rope.rope_dim > args.rope.head_dim)) {
    return KernelStatus::kBadShape;
  }
  const int64_t tasks =
      int64_t{args.n_kv_heads} * (KvBlocks(args.k_side.dim) + KvBlocks(args.v_side.dim)) +
      (with_q ? args.rope.n_heads : 0);
  const int64_t grid_y = CeilDiv(tasks, kWarps);
  if (args.rows < 0 || args.rows > kMaxGridX || args.n_kv_heads <= 0 || args.k_side.dim <= 0 ||
      args.v_side.dim <= 0 || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  return Launch(
      KvStoreKernel,
      {dim3(static_cast<unsigned>(args.rows), static_cast<unsigned>(grid_y)), dim3(kThreads)},
      stream, args);
}

}  // namespace minfer::kernels::cuda
