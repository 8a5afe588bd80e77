// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a block does before it attends: a warp a head reads the row's queries, norms and rotates
// them where asked, and leaves them in shared memory as fragments of mma, each value as two halves.
// The block of the row's last cells does the same with K, and stores K and V.
#pragma once

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kDecodeHeads = 8;  // of a block: the columns of a tile of mma

inline constexpr int kDecodeWarps = 8;
inline constexpr int kDecodeThreads = kDecodeWarps * kWarp;
static_assert(kDecodeWarps == kDecodeHeads);  // a warp a head

// Whether the cells of a step wait in shared memory, where blocks of the neighbouring kernels find
// registers beside these, or in registers. Measured: the first is faster for large heads; those of
// 256 would need more of it than a block may have on every device.
template <int kDim>
inline constexpr bool kCellsShared = kDim > 64 && kDim <= 128;

// What a warp has for itself: sixteen cells of K and of V (CellPiece), and when these are done
// with, its sums, a register after the other.
template <int kDim>
union WarpRoom {
  uint4 cells[2][kCellsShared<kDim> ? 2 * kDim : 1];
  float sums[kDim / 4][kWarp];
};

// Fours of columns of a block's partial results: all, and those that come together, of all stripes
// where heads are small.
template <int kDim>
inline constexpr int kPartialFours = (kDim / 4) * (kDecodeHeads * kAttentionStripes);
template <int kDim>
inline constexpr int kCombineFours = kPartialFours<(kDim <= 64 ? kDim : 64)>;

// What a block keeps in shared memory.
template <int kDim>
struct DecodeShared {
  static constexpr int kWarps = kDecodeWarps;
  union {
    WarpRoom<kDim> rooms[kWarps];
    float4 partials[kCombineFours<kDim>];
  };
  // Fragments of A, a step of 16 columns after the other: of a head's values the halves, and what
  // these leave out eight rows below.
  uint4 queries[kDim / 16][kWarp];
  // The row's own K and V as they are stored.
  alignas(16) __half own_k[kDim];
  alignas(16) __half own_v[kDim];
  alignas(16) float cos_sin[kDim];
  alignas(16) float norms[2][kDim];  // weights for Q and K
  float4 heads[kWarps][kDim / 4];    // that are being rotated
  float highest[kWarps][kDecodeHeads];
  float totals[kWarps][kDecodeHeads];
  float head_highest[kDecodeHeads];
  float head_total[kDecodeHeads];
  float weights[kDecodeHeads][kAttentionStripes];
  bool last_block;
};

// Vectors of four values that a lane has of a head.
template <int kDim>
inline constexpr int kLaneVectors = (kDim / 4 + kWarp - 1) / kWarp;

template <int kDim>
struct HeadValues {
  float4 v[kLaneVectors<kDim>];

  __device__ void Load(const float* head, bool present) {
#pragma unroll
    for (int i = 0; i < kLaneVectors<kDim>; ++i) {
      const int at = static_cast<int>(threadIdx.x) % kWarp + i * kWarp;
      v[i] = present && at < kDim / 4 ? reinterpret_cast<const float4*>(head)[at]
                                      : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
};

// The bits of RmsNorm (vector.h) for rows of kDim values: a warp's sum for each 128 of them.
template <int kDim>
__device__ __forceinline__ void NormHead(const float* weight, float eps, HeadValues<kDim>* head) {
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < kLaneVectors<kDim>; ++i) {
    const float4 x = head->v[i];
    float sum = fmaf(x.x, x.x, 0.0f);
    sum = fmaf(x.y, x.y, sum);
    sum = fmaf(x.z, x.z, sum);
    sum = fmaf(x.w, x.w, sum);
    total += WarpSum(sum);
  }
  const float mean = total / static_cast<float>(kDim);
  const float inverse = 1.0f / sqrtf(mean + eps);
#pragma unroll
  for (int i = 0; i < kLaneVectors<kDim>; ++i) {
    const int at = static_cast<int>(threadIdx.x) % kWarp + i * kWarp;
    if (at >= kDim / 4) break;
    const float4 w = reinterpret_cast<const float4*>(weight)[at];
    float4& x = head->v[i];
    x = make_float4(x.x * inverse * w.x, x.y * inverse * w.y, x.z * inverse * w.z,
                    x.w * inverse * w.w);
  }
}

// Four values of a head rotated at once, with the arithmetic of Rotated: neox, where `other` are
// those half a rotation away.
__device__ __forceinline__ float4 RotateNeox(float4 x, float4 other, const float* cos_sin,
                                             bool second) {
  const float4 c0 = reinterpret_cast<const float4*>(cos_sin)[0];
  const float4 c1 = reinterpret_cast<const float4*>(cos_sin)[1];
  const float4 a = second ? other : x;
  const float4 b = second ? x : other;
  if (second) {
    return make_float4(a.x * c0.y + b.x * c0.x, a.y * c0.w + b.y * c0.z, a.z * c1.y + b.z * c1.x,
                       a.w * c1.w + b.w * c1.z);
  }
  return make_float4(a.x * c0.x - b.x * c0.y, a.y * c0.z - b.y * c0.w, a.z * c1.x - b.z * c1.y,
                     a.w * c1.z - b.w * c1.w);
}

// Rotates a warp's head; `room` is the warp's own.
template <int kDim>
__device__ __forceinline__ void RotateWarpHead(const DecodeTail& tail, const float* cos_sin,
                                               float4* room, HeadValues<kDim>* head) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();  // a head before this one may still be read
#pragma unroll
  for (int i = 0; i < kLaneVectors<kDim>; ++i) {
    if (lane + i * kWarp < kDim / 4) room[lane + i * kWarp] = head->v[i];
  }
  __syncwarp();
  const auto* values = reinterpret_cast<const float*>(room);
  const int half = tail.rope_dim / 2;
#pragma unroll
  for (int i = 0; i < kLaneVectors<kDim>; ++i) {
    const int d = 4 * (lane + i * kWarp);
    if (d >= tail.rope_dim) break;
    if (tail.neox && half % 4 == 0) {
      const bool second = d >= half;
      const int pair = second ? d - half : d;
      head->v[i] =
          RotateNeox(head->v[i], room[(second ? pair : d + half) / 4], cos_sin + 2 * pair, second);
      continue;
    }
    head->v[i] = make_float4(Rotated(values, cos_sin, d, tail.rope_dim, tail.neox),
                             Rotated(values, cos_sin, d + 1, tail.rope_dim, tail.neox),
                             Rotated(values, cos_sin, d + 2, tail.rope_dim, tail.neox),
                             Rotated(values, cos_sin, d + 3, tail.rope_dim, tail.neox));
  }
}

__device__ __forceinline__ uint32_t PairBits(__half a, __half b) {
  return static_cast<uint32_t>(__half_as_ushort(a)) | static_cast<uint32_t>(__half_as_ushort(b))
                                                          << 16;
}

// Two values as halves, and as the halves of what those leave out. Values up to 1.
__device__ __forceinline__ uint2 SplitPair(float a, float b) {
  const __half2 high = __floats2half2_rn(a, b);
  const float2 back = __half22float2(high);
  const __half2 rest = __floats2half2_rn(a - back.x, b - back.y);
  return make_uint2(*reinterpret_cast<const uint32_t*>(&high),
                    *reinterpret_cast<const uint32_t*>(&rest));
}

// The same for any: those past the largest half keep what two of them hold, and a NaN stays in what
// is left out.
__device__ __forceinline__ uint2 SplitQueries(float a, float b) {
  const float limit = 65504.0f;
  const __half2 high =
      __floats2half2_rn(fminf(fmaxf(a, -limit), limit), fminf(fmaxf(b, -limit), limit));
  const float2 back = __half22float2(high);
  const __half2 rest = __floats2half2_rn(a - back.x, b - back.y);
  return make_uint2(*reinterpret_cast<const uint32_t*>(&high),
                    *reinterpret_cast<const uint32_t*>(&rest));
}

// Four columns 4 i .. 4 i + 3 lie together in one lane's fragment, so that a lane's columns of K
// are 16 bytes that lie together.
template <int kDim>
__device__ __forceinline__ void StoreQueries(const HeadValues<kDim>& head, int h,
                                             DecodeShared<kDim>* shared) {
  constexpr int kWide = kDim / 32 * 8;
#pragma unroll
  for (int v = 0; v < kLaneVectors<kDim>; ++v) {
    const int i = static_cast<int>(threadIdx.x) % kWarp + v * kWarp;
    if (i >= kDim / 4) break;
    const int step = i < kWide ? i / 8 * 2 + i % 2 : kDim / 32 * 2;
    const int part = i < kWide ? i % 8 / 2 : i - kWide;
    const float4 x = head.v[v];
    const uint2 first = SplitQueries(x.x, x.y);
    const uint2 second = SplitQueries(x.z, x.w);
    shared->queries[step][4 * h + part] = make_uint4(first.x, first.y, second.x, second.y);
  }
}

// A warp's head of K or V as halves, for this block and, with a place, in the store.
template <int kDim>
__device__ __forceinline__ void StoreOwn(const HeadValues<kDim>& head, __half* own, uint8_t* to) {
#pragma unroll
  for (int v = 0; v < kLaneVectors<kDim>; ++v) {
    const int i = static_cast<int>(threadIdx.x) % kWarp + v * kWarp;
    if (i >= kDim / 4) break;
    const float4 x = head.v[v];
    const uint2 bits = make_uint2(PairBits(ClampedHalf(x.x), ClampedHalf(x.y)),
                                  PairBits(ClampedHalf(x.z), ClampedHalf(x.w)));
    reinterpret_cast<uint2*>(own)[i] = bits;
    if (to != nullptr) reinterpret_cast<uint2*>(to)[i] = bits;
  }
}

// Where a side of the store has a cell of a head; nullptr where it has none.
template <int kDim>
__device__ __forceinline__ uint8_t* FindCell(const KvSide& side, int64_t cell, int kv_head) {
  constexpr int64_t kSlab = KvSlabBytes(KvFormat::kF16, kDim);
  const int64_t page = cell / kKvPageCells;
  if (cell < 0 || page >= side.n_pages) return nullptr;
  return side.pages + page * side.page_bytes + kv_head * kSlab + cell % kKvPageCells * kDim * 2;
}

// Weights of the norms of Q and K, which no launch writes, on their way to shared memory.
template <int kDim>
__device__ __forceinline__ void CopyNorms(const DecodeTail& tail, DecodeShared<kDim>* shared) {
  constexpr int kFours = kDim / 4;
  const int i = static_cast<int>(threadIdx.x);
  if (tail.q_norm != nullptr && i < 2 * kFours) {
    const bool is_k = i >= kFours;
    const int at = 4 * (is_k ? i - kFours : i);
    CpAsync16(shared->norms[is_k ? 1 : 0] + at, (is_k ? tail.k_norm : tail.q_norm) + at, true);
  }
  CpAsyncCommit();
}

// What the launches right before this one have made of a block's row.
template <int kDim>
struct RowInputs {
  HeadValues<kDim> q;
  HeadValues<kDim> own;  // K in the last warp, V in the one before it
  float cos_sin = 0.0f;  // thread i has value i of the row's table

  __device__ RowInputs(const AttentionDecodeArgs& args, int64_t row, int first_head, int heads,
                       int kv_head) {
    const AttentionArgs& a = args.attention;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int i = static_cast<int>(threadIdx.x);
    q.Load(a.q + (row * a.n_heads + first_head + warp) * kDim, warp < heads);
    if (args.tail.k == nullptr) return;
    const float* from = warp == kDecodeWarps - 1 ? args.tail.k : args.tail.v;
    own.Load(from + (row * a.n_kv_heads + kv_head) * kDim, warp >= kDecodeWarps - 2);
    static_assert(kDim <= kDecodeThreads);
    if (args.tail.cos_sin != nullptr && i < args.tail.rope_dim) {
      cos_sin = args.tail.cos_sin[row * args.tail.rope_dim + i];
    }
  }
};

// The row's queries, and with `owns` its K and V, which go to the store too with `stores`. Ends
// with the block's barrier.
template <int kDim>
__device__ __forceinline__ void PrepareRow(const AttentionDecodeArgs& args, int kv_head, bool owns,
                                           int cell, bool stores, RowInputs<kDim>* row,
                                           DecodeShared<kDim>* shared) {
  const DecodeTail& tail = args.tail;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const bool is_k = warp == kDecodeWarps - 1;
  const bool norms = tail.q_norm != nullptr;
  if (tail.cos_sin != nullptr || norms) {
    if (static_cast<int>(threadIdx.x) < tail.rope_dim) shared->cos_sin[threadIdx.x] = row->cos_sin;
    if (norms) CpAsyncWait<kCellsShared<kDim> ? 2 : 0>();  // but for those of cells
    __syncthreads();
  }
  // Q, and then K in its warp: the same code twice.
  const int rounds = is_k && owns ? 2 : 1;
  for (int round = 0; round < rounds; ++round) {
    HeadValues<kDim> head = round == 0 ? row->q : row->own;
    if (norms) NormHead<kDim>(shared->norms[round], round == 0 ? tail.q_eps : tail.k_eps, &head);
    if (tail.cos_sin != nullptr) {
      RotateWarpHead<kDim>(tail, shared->cos_sin, shared->heads[warp], &head);
    }
    if (round == 0) {
      StoreQueries<kDim>(head, warp, shared);
    } else {
      row->own = head;
    }
  }
  if (owns && warp >= kDecodeWarps - 2) {
    const KvSide& side = is_k ? args.attention.k : args.attention.v;
    StoreOwn<kDim>(row->own, is_k ? shared->own_k : shared->own_v,
                   stores ? FindCell<kDim>(side, cell, kv_head) : nullptr);
  }
  __syncthreads();
}

}  // namespace minfer::kernels::cuda
