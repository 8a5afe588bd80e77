// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMVQ on the integer tensor cores, weights streamed through shared memory.
//
// Work is cut into items: 16 rows of one matrix, or 8 of the gate and the same 8 of up. A few
// blocks a multiprocessor take items in turn; the warps of a block share an item, warp w takes
// stages w, w + W, ... of its columns, and their sums are added in the order of the warps. Each
// warp owns a ring of kSlots stages that cp.async fills ahead, on across items, so that bytes stay
// in flight whatever the warps do; the ring is filled before the kernel waits for the one before
// it.
//
// One row of activations would use one of the eight columns of an mma. It is spread over them
// instead: column s holds the values of step s and zeros elsewhere, so that one accumulator
// collects a group of eight steps and a lane scales two of them (mode One; with the residual rows,
// two accumulators). More rows have a column each and are scaled step by step (mode Many). Both add
// the steps of a group in the same four sums, so their bits are the same.
//
// Bound by the bytes of the weights: about 140 instructions a warp for the 2,304 bytes of 16 rows
// x 256 values of Q4_K, where 4.6 TB/s leave 460.
#pragma once

#include <algorithm>

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/arch/mma_m16n8k32.cuh"
#include "kernels/cuda/arch/named_barrier.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/mmvq/quantized_row.cuh"
#include "kernels/cuda/mmvq/stream_tile.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kStreamRows = 16;
inline constexpr int kStreamMaxWarps = 8;

struct StreamArgs {
  MmvqPart parts[kMmvqMaxParts];
  int first_item[kMmvqMaxParts];  // of each part; without a gate
  int n_parts;
  int items;
  int stages;  // of an item
  MmvqGate gate;
  int64_t k;
  int64_t weight_row_bytes;
  const uint8_t* activations;
  int64_t activation_row_bytes;
  int rows;  // of activations
  bool residual;
};

template <ElementType type>
inline constexpr int kStageBytes = kStreamRows* StreamTile<type>::kRowBytes;

// Where the rows of an item lie: the first eight and the others.
struct ItemRows {
  const uint8_t* low;
  const uint8_t* high;
  int last_low;  // rows past the last repeat it
  int last_high;
};

template <bool kGated>
__device__ __forceinline__ ItemRows FindItem(const StreamArgs& args, int item) {
  if constexpr (kGated) {
    const int64_t first = int64_t{item} * 8 * args.weight_row_bytes;
    const int last = static_cast<int>(args.parts[0].n) - 1 - item * 8;
    return {static_cast<const uint8_t*>(args.parts[0].weights) + first,
            static_cast<const uint8_t*>(args.parts[1].weights) + first, last, last};
  }
  int p = 0;
  while (p + 1 < args.n_parts && item >= args.first_item[p + 1]) ++p;
  const int first = (item - args.first_item[p]) * kStreamRows;
  const int last = static_cast<int>(args.parts[p].n) - 1 - first;
  const uint8_t* low =
      static_cast<const uint8_t*>(args.parts[p].weights) + int64_t{first} * args.weight_row_bytes;
  return {low, last < 8 ? low : low + 8 * args.weight_row_bytes, last, last < 8 ? last : last - 8};
}

// Copies stages of an item into a warp's ring. A lane copies chunks lane, lane + 32, ... of the 16
// rows; where they lie is worked out once.
template <ElementType type>
struct Copier {
  using Tile = StreamTile<type>;
  static constexpr int kAll = kStreamRows * Tile::kChunks;
  static constexpr int kEach = (kAll + kWarp - 1) / kWarp;
  static constexpr bool kLinear = Tile::kRowBytes == Tile::kChunks * 16;
  int places[kEach];  // in the eight rows of the chunk

  __device__ __forceinline__ void Prepare(const StreamArgs& args, int lane) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int id = lane + i * kWarp;
      const int row = id / Tile::kChunks % 8;
      places[i] =
          row * static_cast<int>(args.weight_row_bytes) + Tile::Place(id % Tile::kChunks, args.k);
    }
  }

  __device__ __forceinline__ void Copy(const StreamArgs& args, const ItemRows& rows, int stage,
                                       uint8_t* slot, int lane) const {
    const bool whole = rows.last_low >= 7 && rows.last_high >= 7 &&
                       (stage + 1) * Tile::kStageValues <= static_cast<int>(args.k);
    if (!whole) {
      CopyPart(args, rows, stage, slot, lane);
      return;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int id = lane + i * kWarp;
      if (kAll % kWarp != 0 && id >= kAll) break;
      const int first_high = 8 * Tile::kChunks - i * kWarp;
      const uint8_t* base = lane < first_high ? rows.low : rows.high;
      uint8_t* to = slot + 16 * id;
      if constexpr (!kLinear) to += id / Tile::kChunks * (Tile::kRowBytes - 16 * Tile::kChunks);
      CpAsync16(to, base + places[i] + stage * Tile::Stride(id % Tile::kChunks), true);
    }
  }

  // Rows past the last repeat it, chunks past the end are zeros.
  __device__ void CopyPart(const StreamArgs& args, const ItemRows& rows, int stage, uint8_t* slot,
                           int lane) const {
#pragma unroll 1
    for (int id = lane; id < kAll; id += kWarp) {
      const int row = id / Tile::kChunks;
      const int chunk = id % Tile::kChunks;
      const bool high = row >= 8;
      const int r = min(row & 7, high ? rows.last_high : rows.last_low);
      const uint8_t* from = (high ? rows.high : rows.low) + r * args.weight_row_bytes;
      const bool inside = Tile::Inside(stage, chunk, args.k);
      const int at = Tile::Place(chunk, args.k) + stage * Tile::Stride(chunk);
      CpAsync16(slot + row * Tile::kRowBytes + chunk * 16, from + (inside ? at : 0), inside);
    }
  }
};

// acc + activation scale * (x * (dot - kZero * sum) + y * sum); head holds the scale and the sum.
// All integers here are exact as floats.
template <typename Tile>
__device__ __forceinline__ float AddStep(float acc, float2 scale, int dot, float2 head) {
  float value = static_cast<float>(dot);
  if constexpr (Tile::kZero != 0) value -= static_cast<float>(Tile::kZero) * head.y;
  float term = scale.x * value;
  if constexpr (Tile::kHasMin) term = fmaf(scale.y, head.y, term);
  return fmaf(head.x, term, acc);
}

// A head whose sums are one float.
__device__ __forceinline__ float2 SummedHead(float2 head) {
  return make_float2(head.x, static_cast<float>(QuantSum(head)));
}

// The same for a step of two scales.
template <typename Tile>
__device__ __forceinline__ float AddHalves(float acc, float scale, int2 subs, int first, int second,
                                           float2 head) {
  const int2 sums = HalfSums(head);
  const int dot =
      subs.x * (first - Tile::kZero * sums.x) + subs.y * (second - Tile::kZero * sums.y);
  return fmaf(head.x, scale * static_cast<float>(dot), acc);
}

template <bool kPairs>
__device__ __forceinline__ uint2 ActivationWords(const uint8_t* quants, int t) {
  if constexpr (kPairs) return EightBytes(quants + 8 * t);
  return make_uint2(WordAt(quants + 4 * t), WordAt(quants + 16 + 4 * t));
}

// Sums of rows g and g + 8 with one row of activations, or with its two planes. The activations of
// a stage stay in registers: where an item has a stage a warp, for all items.
template <ElementType type, int kPlanes>
struct OneRow {
  using Tile = StreamTile<type>;
  static constexpr int kColumns = kPlanes;
  static constexpr bool kWarpsFinish = true;
  static constexpr int kParts = Tile::kHalves ? 2 : 1;
  static constexpr int kGroups = Tile::kStageValues / 256;
  float sums[kPlanes][2] = {};
  uint2 x[kGroups][kPlanes][kParts];
  float2 heads[kGroups][kPlanes][2];
  int loaded = -1;
  // 1 in the step, or the two, whose column is the lane's. A product with it is cheaper than a
  // choice: the units that choose also unpack the codes.
  static constexpr int kMarks = Tile::kHalves ? 4 : 8;
  uint32_t marks[kMarks];

  __device__ __forceinline__ OneRow() {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int s = 0; s < kMarks; ++s) {
      marks[s] = (Tile::kHalves ? g / 2 : g) == s ? 1u : 0u;
      asm("" : "+r"(marks[s]));
    }
  }

  // Blocks past the end repeat the last: the weights there are zeros.
  __device__ __forceinline__ void Load(const StreamArgs& args, int stage, int lane) {
    if (stage == loaded) return;
    loaded = stage;
    const int g = lane / 4;
    const int t = lane % 4;
    const int last = static_cast<int>(args.k / 32) - 1;
#pragma unroll
    for (int q = 0; q < kGroups; ++q) {
      const int first = (stage * kGroups + q) * 8;
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const uint8_t* quants = args.activations + p * args.activation_row_bytes;
        const auto* all = reinterpret_cast<const float2*>(quants + args.k);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float2 head = all[min(first + (Tile::kHalves ? 4 * i + t : 2 * t + i), last)];
          heads[q][p][i] = Tile::kHalves ? head : SummedHead(head);
        }
#pragma unroll
        for (int h = 0; h < kParts; ++h) {
          const int block = min(first + (Tile::kHalves ? 4 * h + g / 2 : g), last);
          const uint2 words = ActivationWords<Tile::kPairs>(quants + 32 * block, t);
          const bool mine = !Tile::kHalves || t / 2 == g % 2;
          x[q][p][h] = make_uint2(mine ? words.x : 0u, mine ? words.y : 0u);
        }
      }
    }
  }

  __device__ __forceinline__ void Add(const StreamArgs&, const uint8_t* slot, int, int q,
                                      int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    Tile top;
    Tile bottom;
    top.Load(slot + g * Tile::kRowBytes, q, t);
    bottom.Load(slot + (g + 8) * Tile::kRowBytes, q, t);
    int c[kPlanes][kParts][4] = {};
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      const uint2 a = top.Step(s);
      const uint2 b = bottom.Step(s);
      const uint32_t words[4] = {a.x, b.x, a.y, b.y};
      const int part = Tile::kHalves ? s / 4 : 0;
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const uint2 y = x[q][p][part];
        MmaM16N8K32<Tile::kUnsigned>(words, y.x * marks[s % kMarks], y.y * marks[s % kMarks],
                                     c[p][part]);
      }
    }
    float2 scales0[2];
    float2 scales1[2];
    if constexpr (!Tile::kHalves) {
      top.ScalePair(t, scales0);
      bottom.ScalePair(t, scales1);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (Tile::kHalves) {
        const int2 subs0 = top.SubScales(4 * i + t);
        const int2 subs1 = bottom.SubScales(4 * i + t);
#pragma unroll
        for (int p = 0; p < kPlanes; ++p) {
          const int* d = c[p][i];
          const float2 head = heads[q][p][i];
          sums[p][0] = AddHalves<Tile>(sums[p][0], top.scale, subs0, d[0], d[1], head);
          sums[p][1] = AddHalves<Tile>(sums[p][1], bottom.scale, subs1, d[2], d[3], head);
        }
      } else {
#pragma unroll
        for (int p = 0; p < kPlanes; ++p) {
          const float2 head = heads[q][p][i];
          sums[p][0] = AddStep<Tile>(sums[p][0], scales0[i], c[p][0][i], head);
          sums[p][1] = AddStep<Tile>(sums[p][1], scales1[i], c[p][0][2 + i], head);
        }
      }
    }
  }

  // to[column * 16 + row]
  __device__ __forceinline__ void Store(float* to, int lane) {
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float sum = sums[p][r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (lane % 4 == 0) to[p * kStreamRows + lane / 4 + 8 * r] = sum;
        sums[p][r] = 0.0f;
      }
    }
  }
};

// Sums of rows g and g + 8 with columns 2 t and 2 t + 1 of each eight of the interleaved rows.
template <ElementType type, int kEights>
struct ManyRows {
  using Tile = StreamTile<type>;
  static constexpr int kColumns = 8 * kEights;
  static constexpr bool kWarpsFinish = false;
  static constexpr int kGroups = Tile::kStageValues / 256;
  static constexpr int kBlockBytes = kColumns * kInterleavedBytes;
  float sums[kEights][4][4] = {};  // steps of a class are added up as a lane of OneRow does

  __device__ __forceinline__ void Load(const StreamArgs&, int, int) {}

  __device__ __forceinline__ void Add(const StreamArgs& args, const uint8_t* slot, int stage, int q,
                                      int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int first = (stage * kGroups + q) * 8;
    const int last = static_cast<int>(args.k / 32) - 1;
    const uint8_t* group = args.activations + min(first, last - 7) * kBlockBytes;
    Tile top;
    Tile bottom;
    top.Load(slot + g * Tile::kRowBytes, q, t);
    bottom.Load(slot + (g + 8) * Tile::kRowBytes, q, t);
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      const uint8_t* block = Tile::kSuperBlocks
                                 ? group + s * kBlockBytes
                                 : args.activations + min(first + s, last) * kBlockBytes;
      const uint2 a = top.Step(s);
      const uint2 b = bottom.Step(s);
      const uint32_t words[4] = {a.x, b.x, a.y, b.y};
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        const uint2 x = ActivationWords<Tile::kPairs>(block + 32 * (8 * e + g), t);
        const float4 heads =
            *reinterpret_cast<const float4*>(block + 32 * kColumns + 8 * (8 * e + 2 * t));
        AddColumns(top, bottom, words, x, heads, s, sums[e], t);
      }
    }
  }

  __device__ __forceinline__ static void AddColumns(const Tile& top, const Tile& bottom,
                                                    const uint32_t* words, uint2 x, float4 heads,
                                                    int s, float (*to_classes)[4], int t) {
    const float2 head[2] = {make_float2(heads.x, heads.y), make_float2(heads.z, heads.w)};
    if constexpr (Tile::kHalves) {
      int first[4] = {};
      int second[4] = {};
      MmaM16N8K32<false>(words, t < 2 ? x.x : 0u, t < 2 ? x.y : 0u, first);
      MmaM16N8K32<false>(words, t < 2 ? 0u : x.x, t < 2 ? 0u : x.y, second);
      float* to = to_classes[s % 4];
      const int2 subs0 = top.SubScales(s);
      const int2 subs1 = bottom.SubScales(s);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        to[i] = AddHalves<Tile>(to[i], top.scale, subs0, first[i], second[i], head[i]);
        to[2 + i] =
            AddHalves<Tile>(to[2 + i], bottom.scale, subs1, first[2 + i], second[2 + i], head[i]);
      }
    } else {
      int c[4] = {};
      MmaM16N8K32<Tile::kUnsigned>(words, x.x, x.y, c);
      float* to = to_classes[s / 2];
      const float2 scale0 = top.Scale(s);
      const float2 scale1 = bottom.Scale(s);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float2 summed = SummedHead(head[i]);
        to[i] = AddStep<Tile>(to[i], scale0, c[i], summed);
        to[2 + i] = AddStep<Tile>(to[2 + i], scale1, c[2 + i], summed);
      }
    }
  }

  __device__ __forceinline__ void Store(float* to, int lane) {
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float sum = (sums[e][0][i] + sums[e][1][i]) + (sums[e][2][i] + sums[e][3][i]);
        const int column = 8 * e + 2 * (lane % 4) + (i & 1);
        to[column * kStreamRows + lane / 4 + 8 * (i / 2)] = sum;
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[e][j][i] = 0.0f;
      }
    }
  }
};

// One sum of an item over its warps, in their order.
template <int kColumns>
__device__ __forceinline__ float WarpsSum(const float* partial, int warps, int column, int row) {
  float parts[kStreamMaxWarps];
#pragma unroll
  for (int w = 0; w < kStreamMaxWarps; ++w) {
    parts[w] = w < warps ? partial[(w * kColumns + column) * kStreamRows + row] : 0.0f;
  }
  float sum = parts[0];
#pragma unroll
  for (int w = 1; w < kStreamMaxWarps; ++w) sum += parts[w];
  return sum;
}

// Results first, first + step, ... of an item.
template <bool kGated, int kColumns>
__device__ __forceinline__ void FinishItem(const StreamArgs& args, int item, const float* partial,
                                           int first, int step) {
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int planes = args.residual ? 2 : 1;
  if constexpr (kGated) {
    const MmvqPart& up = args.parts[1];
    for (int i = first; i < 8 * args.rows; i += step) {
      const int64_t r = int64_t{item} * 8 + i % 8;
      if (r >= up.n) continue;
      const float gate = WarpsSum<kColumns>(partial, warps, i / 8, i % 8);
      const float value = WarpsSum<kColumns>(partial, warps, i / 8, i % 8 + 8);
      const float act = args.gate == MmvqGate::kSilu ? Silu(gate) : GeluTanh(gate);
      up.out[i / 8 * up.out_stride + r] = act * value;
    }
    return;
  }
  int p = 0;
  while (p + 1 < args.n_parts && item >= args.first_item[p + 1]) ++p;
  const MmvqPart& part = args.parts[p];
  for (int i = first; i < kStreamRows * args.rows / planes; i += step) {
    const int64_t r = int64_t{item - args.first_item[p]} * kStreamRows + i % kStreamRows;
    const int m = i / kStreamRows;
    if (r >= part.n) continue;
    const float bias = part.bias == nullptr ? 0.0f : part.bias[r];
    const float add = part.add == nullptr ? 0.0f : part.add[m * part.out_stride + r];
    float value = WarpsSum<kColumns>(partial, warps, m * planes, i % kStreamRows);
    if (args.residual) {
      value += WarpsSum<kColumns>(partial, warps, m * planes + 1, i % kStreamRows);
    }
    if (part.bias != nullptr) value += bias;
    if (part.add != nullptr) value += add;
    part.out[m * part.out_stride + r] = value;
  }
}

template <ElementType type, typename Sums, bool kGated, int kSlots>
__global__ void __launch_bounds__(kStreamMaxWarps* kWarp, 2)
    StreamKernel(const __grid_constant__ StreamArgs args) {
  using Tile = StreamTile<type>;
  extern __shared__ __align__(16) uint8_t stream_shared[];
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint8_t* ring = stream_shared + warp * kSlots * kStageBytes<type>;
  auto* partials = reinterpret_cast<float*>(stream_shared + warps * kSlots * kStageBytes<type>);
  GridDependencyLaunch();
  Copier<type> copier;
  copier.Prepare(args, lane);

  // The next stage to copy. A warp without stages copies nothing.
  int fill_item = warp < args.stages ? static_cast<int>(blockIdx.x) : args.items;
  int fill_stage = warp;
  int fill_slot = 0;
  ItemRows fill_rows = {};
  if (fill_item < args.items) fill_rows = FindItem<kGated>(args, fill_item);
  const auto fill = [&]() {
    if (fill_item < args.items) {
      copier.Copy(args, fill_rows, fill_stage, ring + fill_slot * kStageBytes<type>, lane);
      fill_stage += warps;
      if (fill_stage >= args.stages) {
        fill_stage = warp;
        fill_item += static_cast<int>(gridDim.x);
        if (fill_item < args.items) fill_rows = FindItem<kGated>(args, fill_item);
      }
    }
    fill_slot = fill_slot + 1 == kSlots ? 0 : fill_slot + 1;
    CpAsyncCommit();
  };
#pragma unroll 1
  for (int i = 0; i < kSlots; ++i) fill();
  GridDependencyWait();

  Sums sums;
  if (warp < args.stages) sums.Load(args, warp, lane);
  int slot = 0;
  int turn = 0;  // the buffer of the item, and with kWarpsFinish the warp that finishes it
  for (int item = static_cast<int>(blockIdx.x); item < args.items;
       item += static_cast<int>(gridDim.x)) {
#pragma unroll 1
    for (int stage = warp; stage < args.stages; stage += warps) {
      CpAsyncWait<kSlots - 1>();
      __syncwarp();
      const uint8_t* from = ring + slot * kStageBytes<type>;
#pragma unroll
      for (int q = 0; q < Sums::kGroups; ++q) sums.Add(args, from, stage, q, lane);
      sums.Load(args, stage + warps < args.stages ? stage + warps : warp, lane);
      __syncwarp();
      fill();
      slot = slot + 1 == kSlots ? 0 : slot + 1;
    }
    float* partial = partials + turn * warps * Sums::kColumns * kStreamRows;
    sums.Store(partial + warp * Sums::kColumns * kStreamRows, lane);
    if constexpr (Sums::kWarpsFinish) {
      // A buffer is free again when its turn comes: every warp has waited for all others since.
      if (warp == turn) {
        NamedBarrierSync(1 + turn, static_cast<int>(blockDim.x));
        FinishItem<kGated, Sums::kColumns>(args, item, partial, lane, kWarp);
      } else {
        NamedBarrierArrive(1 + turn, static_cast<int>(blockDim.x));
      }
      turn = turn + 1 == warps ? 0 : turn + 1;
    } else {
      __syncthreads();
      FinishItem<kGated, Sums::kColumns>(args, item, partial, static_cast<int>(threadIdx.x),
                                         static_cast<int>(blockDim.x));
      turn ^= 1;
    }
  }
}

}  // namespace minfer::kernels::cuda
