// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The body of MMQ. A block has 96 rows of weights (with a gate 48 of it and 48 of up) and all rows
// of activations, kTiles of eight; it walks its part of k in units of 256. Twelve warps: six times
// sixteen rows, and for each the two halves of a unit.
//
//   ring      stages of a unit in shared memory: weights raw, then activations, copied by cp.async
//             or, before 8.0, through registers (two stages then); rows of weights an odd multiple
//             of 16 bytes apart, so that eight meet all banks
//   weights   unpacked from there into the fragments of mma, once for all rows of activations
//   sums      int32 of a block of 32, started at the integer whose bits are 1.5 * 2^23, so that
//   they
//             become floats by a subtraction; scaled and added in f32; the halves' at the end
//   mins      by two tf32 mma a half of a unit: weights' mins are exact, sums of x come as two
//   parts
//
// Matrices with few rows split k over blocks, by their own shape alone; a second kernel adds the
// parts in their order. Bound by the latency of a unit for few rows, by the scaling for many.
#pragma once

#include <algorithm>

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/arch/mma_m16n8k16_s8.cuh"
#include "kernels/cuda/arch/mma_m16n8k32.cuh"
#include "kernels/cuda/arch/mma_m16n8k4_tf32.cuh"
#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmq/mmq_layout.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmqThreads = 384;
inline constexpr int kMmqRows = 96;
inline constexpr int kMmqHalf = kMmqRows / 2;
inline constexpr int kMmqGroups = kMmqRows / 16;  // warps of each half of a unit

struct MmqKernelArgs {
  MmvqPart parts[kMmvqMaxParts];
  unsigned first_block[kMmvqMaxParts];
  int splits[kMmvqMaxParts];       // of k; 1 stores the result itself
  float* partials[kMmvqMaxParts];  // (split, row of activations, row of weights)
  int n_parts;
  MmvqGate gate;
  int64_t k;
  uint32_t weight_row_bytes;
  const uint8_t* activations;
  int units;
  int rows;            // of activations
  int last_tile;       // of eight of them
  int passes;          // 2 with what the first rounding leaves out
  int64_t pass_bytes;  // from one to the other
};

__device__ __forceinline__ uint32_t MmqWordAt(const uint8_t* p) {
  return *reinterpret_cast<const uint32_t*>(p);
}

// What a type has to say, in mmq_types_32.cuh and mmq_types_256.cuh:
//   kPitch, kHasMin, kHalfScales
//   Stager: Start(rows, row_bytes, k, u), then Copy(to) copies the block's rows, unit u and on
//   Unit: Load(at, lane, half) reads the headers of rows lane / 4 and + 8 of a warp's sixteen;
//         Pair(i, codes) gives blocks 2 j and 2 j + 1, j = 2 half + i; Mins(lane, mins, factors),
//         with kHasMin, the mins of block 4 half + lane % 4 of both rows, and what they count with
// kCopy: of the copies in mmq_copy.h.
template <ElementType type, bool kCopy = false>
struct MmqType;

// Blocks 2 j and 2 j + 1 of rows lane / 4 and lane / 4 + 8 as the tensor cores take them.
struct MmqCodes {
  uint32_t a[2][4];
  float scales[2][2];     // of each block: the two rows
  int half_scales[2][4];  // kHalfScales: integers for each 16 values: row, half
};

// The two halves of a block's rows; past the end of a matrix, its last row once more.
struct MmqRowsOf {
  const uint8_t* first[2];
  int last[2];
};

// 16 bytes, or zeros, to shared memory: kRaw by cp.async, which passes no register.
template <bool kRaw>
__device__ __forceinline__ void Stage16(void* shared, const void* global, bool inside) {
  if constexpr (kRaw) {
    CpAsync16(shared, global, inside);
  } else {
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (inside) bytes = *static_cast<const uint4*>(global);
    *static_cast<uint4*>(shared) = bytes;
  }
}

// Copies a plane of kBytes of a unit, kBytes a multiple of 16, unit after unit; the pieces of a
// thread are the same in each. kTail: what is past the end of the plane becomes zero.
template <int kBytes, int kPitch, bool kTail>
struct MmqPlane {
  static constexpr int kPieces = kBytes / 16;
  static constexpr int kAll = kPieces * kMmqRows;
  static constexpr int kSteps = (kAll + kMmqThreads - 1) / kMmqThreads;

  const uint8_t* from[kSteps];
  uint32_t to[kSteps];
  int left;  // bytes of the plane from unit u on

  // The plane begins at `at` of a row and has plane_bytes; u: the first unit.
  __device__ void Start(const MmqRowsOf& rows, uint32_t row_bytes, int64_t at, int64_t plane_bytes,
                        int u) {
    left = static_cast<int>(plane_bytes) - u * kBytes;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      const int row = index / kPieces;
      const bool second = row >= kMmqHalf;
      const int last = second ? rows.last[1] : rows.last[0];
      const int in_half = min(second ? row - kMmqHalf : row, last);
      from[i] = (second ? rows.first[1] : rows.first[0]) +
                static_cast<uint32_t>(in_half) * row_bytes + at + index % kPieces * 16 +
                int64_t{u} * kBytes;
      to[i] = static_cast<uint32_t>(row * kPitch + index % kPieces * 16);
    }
  }

  // The next unit.
  template <bool kRaw = true>
  __device__ __forceinline__ void Copy(uint8_t* stage) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      if (i * kMmqThreads + kMmqThreads <= kAll || index < kAll) {
        const bool inside = !kTail || index % kPieces * 16 < left;
        // Outside, where the unit begins, which is valid; it is not read.
        Stage16<kRaw>(stage + to[i], inside ? from[i] : from[i] - index % kPieces * 16, inside);
      }
      from[i] += kBytes;
    }
    left -= kBytes;
  }
};

// Stages units that lie whole in their row.
template <int kBlockBytes, int kPitch>
struct MmqUnitStager {
  MmqPlane<kBlockBytes, kPitch, false> blocks;

  __device__ void Start(const MmqRowsOf& rows, uint32_t row_bytes, int64_t, int u) {
    blocks.Start(rows, row_bytes, 0, row_bytes, u);
  }
  template <bool kRaw = true>
  __device__ __forceinline__ void Copy(uint8_t* to) {
    blocks.template Copy<kRaw>(to);
  }
};

// Adds the sums of a block of 32 with one tile of eight rows of activations.
template <bool kHalfScales>
__device__ __forceinline__ void AddBlock(const uint32_t* codes, const float* scales,
                                         const int* half_scales, const uint32_t* x, float d0,
                                         float d1, float* sums) {
  const float d[2] = {d0, d1};
  if constexpr (kHalfScales) {
    int low[4] = {};
    int high[4] = {};
    MmaS8M16N8K16(codes, x[0], low);
    MmaS8M16N8K16(codes + 2, x[1], high);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int* s = half_scales + e / 2 * 2;
      const float sum = static_cast<float>(low[e] * s[0] + high[e] * s[1]);
      sums[e] = fmaf(scales[e / 2] * d[e % 2], sum, sums[e]);
    }
  } else {
    constexpr int kMagic = 0x4b400000;
    int dots[4] = {kMagic, kMagic, kMagic, kMagic};
    MmaM16N8K32<false>(codes, x[0], x[1], dots);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float sum = __int_as_float(dots[e]) - 12582912.0f;
      sums[e] = fmaf(scales[e / 2] * d[e % 2], sum, sums[e]);
    }
  }
}

// Half a unit of k for a warp: its sixteen rows and the tiles of activations; kSome: only the first
// `tiles` of them.
template <ElementType type, int kTiles, bool kSome = false, bool kCopy = false>
__device__ __forceinline__ void MultiplyUnit(int passes, const uint8_t* weights, const uint8_t* x,
                                             int half, float (*sums)[4], int tiles = kTiles) {
  using Type = MmqType<type, kCopy>;
  const int lane = threadIdx.x % kWarp;
  typename Type::Unit unit;
  unit.Load(weights, lane, half);
  for (int pass = 0; pass < passes; ++pass, x += kTiles * kMmqUnitBytes) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      MmqCodes codes;
      unit.Pair(i, &codes);
      const uint8_t* quants = x + (2 * half + i) * 512 + lane * 16;
      const uint8_t* scales = x + kMmqScalesAt + lane % 4 * 64 + (2 * half + i) * 16;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        if (kSome && t >= tiles) break;
        const uint4 b = *reinterpret_cast<const uint4*>(quants + t * kMmqUnitBytes);
        const float4 d = *reinterpret_cast<const float4*>(scales + t * kMmqUnitBytes);
        const uint32_t first[2] = {b.x, b.y};
        const uint32_t second[2] = {b.z, b.w};
        AddBlock<Type::kHalfScales>(codes.a[0], codes.scales[0], codes.half_scales[0], first, d.x,
                                    d.y, sums[t]);
        AddBlock<Type::kHalfScales>(codes.a[1], codes.scales[1], codes.half_scales[1], second, d.z,
                                    d.w, sums[t]);
      }
    }
    if constexpr (Type::kHasMin) {
      float mins[2];
      float factors[2];
      unit.Mins(lane, mins, factors);
      const uint8_t* totals = x + kMmqSumsAt + lane * 8 + half * 4;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        if (kSome && t >= tiles) break;
        const float sum = *reinterpret_cast<const float*>(totals + t * kMmqUnitBytes);
        const float high = __uint_as_float(__float_as_uint(sum) & 0xffffe000u);
        float products[4] = {};
        MmaTf32M16N8K4(mins, high, products);
        MmaTf32M16N8K4(mins, sum - high, products);
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[t][e] = fmaf(factors[e / 2], products[e], sums[t][e]);
      }
    }
  }
}

// Copies the activations unit after unit, both passes.
template <int kTiles>
struct MmqActivations {
  static constexpr int kPieces = kMmqUnitBytes / 16;
  static constexpr int kAll = kTiles * kPieces;
  static constexpr int kSteps = (kAll + kMmqThreads - 1) / kMmqThreads;

  const uint8_t* from[kSteps];

  __device__ void Start(const MmqKernelArgs& args, int u) {
    const int64_t tile_bytes = static_cast<int64_t>(args.units) * kMmqUnitBytes;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      // Past the last tile, that once more; those sums are not stored.
      const int t = min(index / kPieces, args.last_tile);
      from[i] =
          args.activations + t * tile_bytes + int64_t{u} * kMmqUnitBytes + index % kPieces * 16;
    }
  }

  // The next unit. The steps are unrolled: ptxas 13.0 gave a loop to a run-time bound a wrong
  // address in its second step.
  template <bool kRaw = true>
  __device__ __forceinline__ void Copy(const MmqKernelArgs& args, uint8_t* stage) {
    uint8_t* to = stage + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int index = i * kMmqThreads + static_cast<int>(threadIdx.x);
      if (i * kMmqThreads + kMmqThreads <= kAll || index < kAll) {
        Stage16<kRaw>(to + i * kMmqThreads * 16, from[i], true);
        if (args.passes == 2) {
          Stage16<kRaw>(to + (kAll + i * kMmqThreads) * 16, from[i] + args.pass_bytes, true);
        }
      }
      from[i] += kMmqUnitBytes;
    }
  }
};

// Stores the sums of a warp's rows, which begin at row r of the part; only up's warps with a gate.
template <int kTiles>
__device__ __forceinline__ void StoreRows(const MmqKernelArgs& args, int p, int split, int64_t r,
                                          const float (*sums)[4]) {
  const int lane = threadIdx.x % kWarp;
  const MmvqPart& part = args.parts[p];
  const bool whole = args.splits[p] == 1;
  float* out = whole ? part.out : args.partials[p] + int64_t{split} * args.rows * part.n;
  const int64_t stride = whole ? part.out_stride : part.n;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const int64_t row = r + lane / 4 + e / 2 * 8;
    if (row >= part.n) continue;
    const float bias = whole && part.bias != nullptr ? part.bias[row] : 0.0f;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const int column = 8 * t + lane % 4 * 2 + e % 2;
      if (column >= args.rows) continue;
      out[column * stride + row] = whole && part.bias != nullptr ? sums[t][e] + bias : sums[t][e];
    }
  }
}

__device__ __forceinline__ float MmqGated(MmvqGate gate, float g, float up) {
  return (gate == MmvqGate::kSilu ? Silu(g) : GeluTanh(g)) * up;
}

template <ElementType type, bool kRaw = true, bool kCopy = false>
__host__ __device__ constexpr int MmqStages() {
  return !kRaw || MmqType<type, kCopy>::kPitch > 208 ? 2 : 3;
}

template <ElementType type, int kTiles, bool kCopy = false>
__host__ __device__ constexpr int MmqStageBytes(int passes) {
  return kMmqRows * MmqType<type, kCopy>::kPitch + passes * kTiles * kMmqUnitBytes;
}

// Adds what a warp of the second half has to the sums of the first, then, with a gate that is not
// split, gives up's warps their result. Returns whether the warp has something to store.
template <int kTiles>
__device__ __forceinline__ bool JoinSums(MmvqGate act, bool gates, float* shared,
                                         float (*sums)[4]) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int group = warp % kMmqGroups;
  constexpr int kWarpFloats = kTiles * 4 * kWarp;
  __syncthreads();
  float* to = shared + group * kWarpFloats + lane;
  if (warp >= kMmqGroups) {
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) to[i * kWarp] = sums[i / 4][i % 4];
  }
  __syncthreads();
  if (warp < kMmqGroups) {
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) sums[i / 4][i % 4] += to[i * kWarp];
  }
  if (!gates) return warp < kMmqGroups;
  __syncthreads();
  float* gate = shared + group % (kMmqGroups / 2) * kWarpFloats + lane;
  if (warp < kMmqGroups / 2) {
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) gate[i * kWarp] = sums[i / 4][i % 4];
  }
  __syncthreads();
  if (warp < kMmqGroups / 2 || warp >= kMmqGroups) return false;
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i) {
    sums[i / 4][i % 4] = MmqGated(act, gate[i * kWarp], sums[i / 4][i % 4]);
  }
  return true;
}

template <ElementType type, int kTiles, bool kRaw, bool kCopy>
__global__ void __launch_bounds__(kMmqThreads, kTiles > 4 ? 1 : 2)
    MmqKernel(const __grid_constant__ MmqKernelArgs args) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Type = MmqType<type, kCopy>;
  constexpr int kStages = MmqStages<type, kRaw, kCopy>();
  const int warp = threadIdx.x / kWarp;
  const int group = warp % kMmqGroups;
  const bool gated = args.gate != MmvqGate::kNone;
  int p = gated ? 1 : 0;
  while (!gated && p + 1 < args.n_parts && blockIdx.x >= args.first_block[p + 1]) ++p;
  const MmvqPart& part = args.parts[p];
  const int splits = args.splits[p];
  const int index = static_cast<int>(blockIdx.x - args.first_block[p]);
  const int split = index % splits;
  const int64_t r0 = static_cast<int64_t>(index / splits) * (gated ? kMmqHalf : kMmqRows);
  MmqRowsOf rows;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t first = min(gated ? r0 : r0 + h * kMmqHalf, part.n - 1);
    const void* weights = gated && h == 0 ? args.parts[0].weights : part.weights;
    rows.first[h] = static_cast<const uint8_t*>(weights) + first * int64_t{args.weight_row_bytes};
    rows.last[h] = static_cast<int>(min(part.n - 1 - first, int64_t{kMmqHalf - 1}));
  }
  const int stage_bytes = MmqStageBytes<type, kTiles, kCopy>(args.passes);
  const int begin = args.units * split / splits;
  const int end = args.units * (split + 1) / splits;
  typename Type::Stager stager;
  stager.Start(rows, args.weight_row_bytes, args.k, begin);
  MmqActivations<kTiles> activations;
  activations.Start(args, begin);
  const auto stage = [&](int u, int slot) {
    if (u < end) {
      uint8_t* to = shared + slot * stage_bytes;
      stager.template Copy<kRaw>(to);
      activations.template Copy<kRaw>(args, to + kMmqRows * Type::kPitch);
    }
    if constexpr (kRaw) CpAsyncCommit();
  };
  float sums[kTiles][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) stage(begin + s, s);
  int slot = 0;
  int filling = kStages - 1;
  for (int u = begin; u < end; ++u) {
    if constexpr (kRaw) CpAsyncWait<kStages - 2>();
    __syncthreads();
    stage(u + kStages - 1, filling);
    const uint8_t* staged = shared + slot * stage_bytes;
    MultiplyUnit<type, kTiles, false, kCopy>(args.passes, staged + group * 16 * Type::kPitch,
                                             staged + kMmqRows * Type::kPitch, warp / kMmqGroups,
                                             sums);
    slot = slot + 1 == kStages ? 0 : slot + 1;
    filling = filling + 1 == kStages ? 0 : filling + 1;
  }
  if (!JoinSums<kTiles>(args.gate, gated && splits == 1, reinterpret_cast<float*>(shared), sums))
    return;
  // With a gate, the first half of the groups has the gate's rows.
  const bool of_gate = gated && group < kMmqGroups / 2;
  const int64_t r = r0 + (gated ? group % (kMmqGroups / 2) : group) * 16;
  StoreRows<kTiles>(args, of_gate ? 0 : p, split, r, sums);
}

// In mmq.cu: adds the parts of k of the matrices that were split.
KernelStatus ReduceMmq(const MmqKernelArgs& args, KernelStream stream);

template <ElementType type, int kTiles, bool kRaw, bool kCopy>
KernelStatus LaunchMmq(MmqKernelArgs* args, int32_t shared_limit, KernelStream stream) {
  const int shared =
      MmqStages<type, kRaw, kCopy>() * MmqStageBytes<type, kTiles, kCopy>(args->passes);
  if (shared > shared_limit) return KernelStatus::kUnsupportedType;
  const bool gated = args->gate != MmvqGate::kNone;
  int64_t grid = 0;
  bool split = false;
  for (int p = gated ? 1 : 0; p < args->n_parts; ++p) {
    args->first_block[p] = static_cast<unsigned>(grid);
    grid += CeilDiv(args->parts[p].n, gated ? kMmqHalf : kMmqRows) * args->splits[p];
    split = split || (args->splits[p] > 1 && args->parts[p].n > 0);
  }
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  if (grid == 0) return KernelStatus::kOk;
  KernelStatus status = AllowSharedBytes(MmqKernel<type, kTiles, kRaw, kCopy>, shared, stream);
  if (status != KernelStatus::kOk) return status;
  status =
      Launch(MmqKernel<type, kTiles, kRaw, kCopy>,
             {dim3(static_cast<unsigned>(grid)), dim3(kMmqThreads), static_cast<size_t>(shared)},
             stream, *args);
  return status != KernelStatus::kOk || !split ? status : ReduceMmq(*args, stream);
}

// The rows in `args`, as many at once as the shared memory of the device allows.
template <ElementType type, bool kRaw, bool kCopy = false>
KernelStatus RunStaged(const MmqKernelArgs& args, int32_t shared_limit, KernelStream stream) {
  // Older devices have no room for eight, and for two of some types neither.
  constexpr int kMost = kRaw ? 8 : 4;
  constexpr int kLeast = kRaw ? 2 : 1;
  int tiles = 0;
  for (const int t : {kMost, 4, kLeast}) {
    const int bytes = kMmqRows * MmqType<type, kCopy>::kPitch + args.passes * t * kMmqUnitBytes;
    if (MmqStages<type, kRaw, kCopy>() * bytes > shared_limit) continue;
    if (tiles == 0 || args.rows <= 8 * t) tiles = t;
  }
  if (tiles == 0) return KernelStatus::kUnsupportedType;
  for (int first = 0; first < args.rows; first += 8 * tiles) {
    MmqKernelArgs now = args;
    now.rows = std::min(args.rows - first, 8 * tiles);
    now.last_tile = (now.rows + 7) / 8 - 1;
    now.activations += static_cast<int64_t>(first / 8) * args.units * kMmqUnitBytes;
    for (int p = 0; p < args.n_parts; ++p) {
      if (now.parts[p].out != nullptr) now.parts[p].out += first * now.parts[p].out_stride;
    }
    const KernelStatus status =
        tiles == kLeast ? LaunchMmq<type, kLeast, kRaw, kCopy>(&now, shared_limit, stream)
        : tiles == 4    ? LaunchMmq<type, 4, kRaw, kCopy>(&now, shared_limit, stream)
                        : LaunchMmq<type, kMost, kRaw, kCopy>(&now, shared_limit, stream);
    if (status != KernelStatus::kOk) return status;
  }
  return KernelStatus::kOk;
}

template <ElementType type>
KernelStatus RunMmq(const MmqKernelArgs& args, const MmqScratch& scratch, KernelStream stream) {
  return scratch.raw ? RunStaged<type, true>(args, scratch.shared_opt_in_bytes, stream)
                     : RunStaged<type, false>(args, scratch.shared_opt_in_bytes, stream);
}

}  // namespace minfer::kernels::cuda
