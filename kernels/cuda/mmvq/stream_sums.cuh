// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Sums of the streamed MMVQ: a stage of 16 rows of weights times one row of activations (OneRow) or
// up to sixteen columns of them (ManyRows).
#pragma once

#include <algorithm>

#include "kernels/cuda/arch/mma_m16n8k32.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"
#include "kernels/cuda/mmvq/stream_copy.cuh"

namespace minfer::kernels::cuda {

// What takes away the number that dots begin with. A scale has few bits: its product with that
// number is exact, and so is the difference before it is rounded.
template <typename Tile>
__device__ __forceinline__ float DotOffset(float scale) {
  constexpr float kStart = Tile::kDotStart == kUnitsStart ? 12582912.0f : 786432.0f;
  return -kStart * scale;
}

// acc + activation scale * (x * dot + y * sum); head holds the scale and the sum.
template <typename Tile>
__device__ __forceinline__ float AddStep(float acc, float2 scale, float offset, int dot,
                                         float2 head) {
  float term = fmaf(__int_as_float(dot), scale.x, offset);
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

// swap: 16 where the halves of the column have changed places (CopyActivations), or 0.
template <bool kPairs>
__device__ __forceinline__ uint2 ActivationWords(const uint8_t* quants, int t, int swap = 0) {
  if constexpr (kPairs) return EightBytes(quants + (8 * t ^ swap));
  return make_uint2(WordAt(quants + (4 * t ^ swap)), WordAt(quants + ((16 + 4 * t) ^ swap)));
}

// Sums of rows g and g + 8 with one row of activations, or with its two planes. The activations of
// a stage stay in registers: where an item has a stage a warp, for all items.
template <ElementType type, int kPlanes>
struct OneRow {
  using Tile = StreamTile<type>;
  static constexpr int kColumns = kPlanes;
  static constexpr bool kWarpsFinish = true;
  static constexpr int kAddends = 1;  // results that a thread finishes
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

  // Of a stage, in bytes from the start of a row: where a lane's heads and words lie.
  int head_at[kGroups][2];
  int words_at[kGroups][kParts];

  // All that can be known before the activations are complete: little stands between them and the
  // results.
  __device__ __forceinline__ void Prepare(const StreamArgs& args, int stage, int lane) {
#pragma unroll
    for (int s = 0; s < kMarks; ++s) {
      marks[s] = (Tile::kHalves ? lane / 8 : lane / 4) == s ? 1u : 0u;
      asm volatile("" : "+r"(marks[s]));
    }
    Place(args, stage, lane);
#pragma unroll
    for (int q = 0; q < kGroups; ++q) {
#pragma unroll
      for (int i = 0; i < 2; ++i) asm volatile("" : "+r"(head_at[q][i]));
#pragma unroll
      for (int h = 0; h < kParts; ++h) asm volatile("" : "+r"(words_at[q][h]));
    }
    loaded = stage;
  }

  // Blocks past the end repeat the last: the weights there are zeros.
  __device__ __forceinline__ void Place(const StreamArgs& args, int stage, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int last = args.blocks - 1;
#pragma unroll
    for (int q = 0; q < kGroups; ++q) {
      const int first = (stage * kGroups + q) * 8;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int block = min(first + (Tile::kHalves ? 4 * i + t : 2 * t + i), last);
        head_at[q][i] = 32 * args.blocks + 8 * block;
      }
#pragma unroll
      for (int h = 0; h < kParts; ++h) {
        const int block = min(first + (Tile::kHalves ? 4 * h + g / 2 : g), last);
        words_at[q][h] = 32 * block + (Tile::kPairs ? 8 : 4) * t;
      }
    }
  }

  __device__ __forceinline__ void LoadPlaced(const StreamArgs& args, const uint8_t* activations,
                                             int lane) {
#pragma unroll
    for (int q = 0; q < kGroups; ++q) {
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const uint8_t* row = activations + p * static_cast<int>(args.activation_row_bytes);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float2 head = *reinterpret_cast<const float2*>(row + head_at[q][i]);
          heads[q][p][i] = head;
          if constexpr (!Tile::kHalves) {
            if constexpr (Tile::kHasMin) heads[q][p][i] = SummedHead(head);
          }
        }
#pragma unroll
        for (int h = 0; h < kParts; ++h) {
          const uint2 words = ActivationWords<Tile::kPairs>(row + words_at[q][h], 0);
          const bool mine = !Tile::kHalves || lane % 4 / 2 == lane / 4 % 2;
          x[q][p][h] = make_uint2(mine ? words.x : 0u, mine ? words.y : 0u);
        }
      }
    }
  }

  // The stage that was prepared.
  __device__ __forceinline__ void LoadFirst(const StreamArgs& args, const uint8_t* activations,
                                            int lane) {
    LoadPlaced(args, activations, lane);
  }

  __device__ __forceinline__ void Load(const StreamArgs& args, const uint8_t* activations,
                                       int stage, int lane) {
    if (stage == loaded) return;
    loaded = stage;
    Place(args, stage, lane);
    LoadPlaced(args, activations, lane);
  }

  template <bool>
  __device__ __forceinline__ void Add(const StreamArgs&, const uint8_t*, const uint8_t* slot, int,
                                      int q, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    Tile top;
    Tile bottom;
    top.Load(slot + g * Tile::kRowBytes, q, t);
    bottom.Load(slot + (g + 8) * Tile::kRowBytes, q, t);
    // One plane of one part in two accumulators: a chain half as long.
    constexpr bool kSplit = !Tile::kHalves && kPlanes == 1;
    constexpr int kSums = kSplit ? 2 : kParts;
    int start = 0;
    if constexpr (!Tile::kHalves) start = Tile::kDotStart;
    int c[kPlanes][kSums][4];
#pragma unroll
    for (int i = 0; i < kPlanes * kSums * 4; ++i) {
      const int at = i / 4 % kSums;
      c[i / 4 / kSums][at][i % 4] = kSplit && at == 1 ? 0 : start;
    }
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
                                     c[p][kSplit ? s & 1 : part]);
      }
    }
    if constexpr (kSplit) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[0][0][i] += c[0][1][i];
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
          sums[p][0] = AddStep<Tile>(sums[p][0], scales0[i], DotOffset<Tile>(scales0[i].x),
                                     c[p][0][i], head);
          sums[p][1] = AddStep<Tile>(sums[p][1], scales1[i], DotOffset<Tile>(scales1[i].x),
                                     c[p][0][2 + i], head);
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
  static constexpr int kAddends = kMmvqMaxRows * kStreamRows / kWarp;
  static constexpr int kGroups = Tile::kStageValues / 256;
  static constexpr int kBlockBytes = kColumns * kInterleavedBytes;
  float sums[kEights][4][4] = {};  // steps of a class are added up as a lane of OneRow does

  __device__ __forceinline__ void Prepare(const StreamArgs&, int, int) {}
  __device__ __forceinline__ void LoadFirst(const StreamArgs&, const uint8_t*, int) {}
  __device__ __forceinline__ void Load(const StreamArgs&, const uint8_t*, int, int) {}

  // kCopied: the activations are those of CopyActivations.
  template <bool kCopied>
  __device__ __forceinline__ void Add(const StreamArgs& args, const uint8_t* activations,
                                      const uint8_t* slot, int stage, int q, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int swap = kCopied ? g / 4 * 16 : 0;
    const int first = (stage * kGroups + q) * 8;
    const int last = static_cast<int>(args.k / 32) - 1;
    const uint8_t* group = activations + (kCopied ? first : min(first, last - 7)) * kBlockBytes;
    Tile top;
    Tile bottom;
    top.Load(slot + g * Tile::kRowBytes, q, t);
    bottom.Load(slot + (g + 8) * Tile::kRowBytes, q, t);
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      const uint8_t* block = kCopied || Tile::kSuperBlocks
                                 ? group + s * kBlockBytes
                                 : activations + min(first + s, last) * kBlockBytes;
      const uint2 a = top.Step(s);
      const uint2 b = bottom.Step(s);
      const uint32_t words[4] = {a.x, b.x, a.y, b.y};
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        const Column column(block, e, g, t, swap);
        if constexpr (Tile::kHalves) {
          AddHalfColumns(top, bottom, words, column, s, sums[e][s % 4], t);
        } else {
          AddColumns(words, column, top.Scale(s), bottom.Scale(s), sums[e][s / 2]);
        }
      }
    }
  }

  struct Column {
    uint2 x;
    float2 head[2];  // of columns 2 t and 2 t + 1

    __device__ __forceinline__ Column(const uint8_t* block, int e, int g, int t, int swap) {
      x = ActivationWords<Tile::kPairs>(block + 32 * (8 * e + g), t, swap);
      const float4 heads =
          *reinterpret_cast<const float4*>(block + 32 * kColumns + 8 * (8 * e + 2 * t));
      head[0] = make_float2(heads.x, heads.y);
      head[1] = make_float2(heads.z, heads.w);
    }
  };

  __device__ __forceinline__ static void AddHalfColumns(const Tile& top, const Tile& bottom,
                                                        const uint32_t* words, const Column& column,
                                                        int s, float* to, int t) {
    const uint2 x = column.x;
    int first[4] = {};
    int second[4] = {};
    MmaM16N8K32<false>(words, t < 2 ? x.x : 0u, t < 2 ? x.y : 0u, first);
    MmaM16N8K32<false>(words, t < 2 ? 0u : x.x, t < 2 ? 0u : x.y, second);
    const int2 subs0 = top.SubScales(s);
    const int2 subs1 = bottom.SubScales(s);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 head = column.head[i];
      to[i] = AddHalves<Tile>(to[i], top.scale, subs0, first[i], second[i], head);
      to[2 + i] =
          AddHalves<Tile>(to[2 + i], bottom.scale, subs1, first[2 + i], second[2 + i], head);
    }
  }

  __device__ __forceinline__ static void AddColumns(const uint32_t* words, const Column& column,
                                                    float2 scale0, float2 scale1, float* to) {
    const float offset0 = DotOffset<Tile>(scale0.x);
    const float offset1 = DotOffset<Tile>(scale1.x);
    int dots[4] = {Tile::kDotStart, Tile::kDotStart, Tile::kDotStart, Tile::kDotStart};
    MmaM16N8K32<Tile::kUnsigned>(words, column.x.x, column.x.y, dots);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 head = Tile::kHasMin ? SummedHead(column.head[i]) : column.head[i];
      to[i] = AddStep<Tile>(to[i], scale0, offset0, dots[i], head);
      to[2 + i] = AddStep<Tile>(to[2 + i], scale1, offset1, dots[2 + i], head);
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

}  // namespace minfer::kernels::cuda
