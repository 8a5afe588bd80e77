// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How a tile of 16 rows of a weight lies in shared memory and becomes fragments of mma m16n8k32.
//
// A stage is kStageValues values of each of 16 rows, copied in chunks of 16 bytes; its groups of
// 256 values are multiplied one after another. A group has eight steps of 32 values, one mma each:
// the values of a step are one block, or sub-block, of the type, so all four lanes of a row (t =
// 0 .. 3) hold a part of it. The order of the values inside a step is free, so a lane takes what is
// cheapest to unpack: bytes 8 t .. 8 t + 7 of the activations (kPairs), or 4 t .. and 16 + 4 t ..
//
//   Place(chunk, k)          where a chunk of stage 0 lies in a stored row
//   Stride(chunk)            how far it is to that of the next stage
//   Inside(stage, chunk, k)  whether a chunk lies in the row
//   Load(row, q, t)          group q of a row of the stage into registers
//   Step(s)                  the two words of step s
//   Scale(s)                 step s stands for x * dot + y * sum
//   ScalePair(t, out)        those of steps 2 t and 2 t + 1
//
// Q6_K has a scale for each 16 values instead: SubScales(s) gives two, lanes 0 and 1 hold the first
// 16 values of a step, lanes 2 and 3 the rest, and each value stands for scale * (code - kZero).
#pragma once

#include "kernels/cuda/common/decode.cuh"

namespace minfer::kernels::cuda {

__device__ __forceinline__ uint32_t WordAt(const uint8_t* p) {
  return *reinterpret_cast<const uint32_t*>(p);
}

// Byte `at` of a word as a float, by way of the bits of 2^23 + byte.
__device__ __forceinline__ float ByteToFloat(uint32_t word, int at) {
  return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7540u + static_cast<uint32_t>(at))) -
         8388608.0f;
}

// Dots begin with the bits of a float, 1.5 * 2^23: below 2^22 they need no conversion, only that
// number taken away; and dots of codes that are 16 times as large with those of 1.5 * 2^19, whose
// last bit is a sixteenth.
inline constexpr int kUnitsStart = 0x4b400000;
inline constexpr int kSixteenthsStart = 0x49400000;

template <ElementType type>
struct StreamTile;

__device__ __forceinline__ uint32_t AndXor(uint32_t x, uint32_t mask, uint32_t flip) {
  uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;\n" : "=r"(y) : "r"(x), "r"(mask), "r"(flip));
  return y;
}

// What Q4_K and Q5_K share: scales and mins of eight sub-blocks, a byte each.
struct SubScales8 {
  uint32_t scales[2];
  uint32_t mins[2];
  float scale;
  float min;

  __device__ void LoadHead(const uint8_t* block) {
    const uint4 head = *reinterpret_cast<const uint4*>(block);
    const auto bits = static_cast<unsigned short>(head.x & 0xffffu);
    scale = __half2float(__ushort_as_half(bits));
    min = __half2float(__ushort_as_half(static_cast<unsigned short>(head.x >> 16)));
    scales[0] = head.y & 0x3f3f3f3fu;
    mins[0] = head.z & 0x3f3f3f3fu;
    scales[1] = (head.w & 0x0f0f0f0fu) | ((head.y >> 2) & 0x30303030u);
    mins[1] = ((head.w >> 4) & 0x0f0f0f0fu) | ((head.z >> 2) & 0x30303030u);
  }
  // Of the step; an odd step's codes may be `odd_shift` bits too high.
  template <int odd_shift>
  __device__ float2 ScaleOf(int s) const {
    const float factor = scale * ByteToFloat(scales[s / 4], s % 4);
    return make_float2((s & 1) != 0 ? factor * (1.0f / (1 << odd_shift)) : factor,
                       -(min * ByteToFloat(mins[s / 4], s % 4)));
  }
  // Of steps 2 t and 2 t + 1.
  template <int odd_shift>
  __device__ void ScalePairOf(int t, float2* out) const {
    const int shift = 16 * (t & 1);
    const uint32_t scale_bytes = (t < 2 ? scales[0] : scales[1]) >> shift;
    const uint32_t min_bytes = (t < 2 ? mins[0] : mins[1]) >> shift;
    out[0] = make_float2(scale * ByteToFloat(scale_bytes, 0), -(min * ByteToFloat(min_bytes, 0)));
    out[1] = make_float2(scale * ByteToFloat(scale_bytes, 1) * (1.0f / (1 << odd_shift)),
                         -(min * ByteToFloat(min_bytes, 1)));
  }
};

template <>
struct StreamTile<ElementType::kQ4_K> : SubScales8 {
  static constexpr int kStageValues = 512;
  static constexpr int kRowBytes = 288;
  static constexpr int kChunks = 18;
  static constexpr bool kPairs = true;
  static constexpr bool kHalves = false;
  static constexpr bool kUnsigned = true;
  static constexpr bool kSuperBlocks = true;
  static constexpr bool kHasMin = true;
  static constexpr int kDotStart = kUnitsStart;
  uint2 codes[4];

  __device__ static int Place(int chunk, int64_t) { return chunk * 16; }
  __device__ static int Stride(int) { return kRowBytes; }
  __device__ static bool Inside(int stage, int chunk, int64_t k) {
    return stage * kRowBytes + chunk * 16 < static_cast<int>(k / 256) * 144;
  }
  __device__ void Load(const uint8_t* row, int q, int t) {
    const uint8_t* block = row + q * 144;
    LoadHead(block);
#pragma unroll
    for (int j = 0; j < 4; ++j) codes[j] = EightBytes(block + 16 + 32 * j + 8 * t);
  }
  // The codes of odd steps stay where they are, times 16 as bytes without sign.
  __device__ uint2 Step(int s) const {
    const uint2 c = codes[s / 2];
    const uint32_t mask = (s & 1) != 0 ? 0xf0f0f0f0u : 0x0f0f0f0fu;
    return make_uint2(c.x & mask, c.y & mask);
  }
  __device__ float2 Scale(int s) const { return ScaleOf<4>(s); }
  __device__ void ScalePair(int t, float2* out) const { ScalePairOf<4>(t, out); }
};

template <>
struct StreamTile<ElementType::kQ5_K> : SubScales8 {
  static constexpr int kStageValues = 512;
  static constexpr int kRowBytes = 352;
  static constexpr int kChunks = 22;
  static constexpr bool kPairs = true;
  static constexpr bool kHalves = false;
  static constexpr bool kUnsigned = false;
  static constexpr bool kSuperBlocks = true;
  static constexpr bool kHasMin = true;
  static constexpr int kDotStart = kUnitsStart;
  uint2 codes[4];
  uint2 high;

  __device__ static int Place(int chunk, int64_t) { return chunk * 16; }
  __device__ static int Stride(int) { return kRowBytes; }
  __device__ static bool Inside(int stage, int chunk, int64_t k) {
    return stage * kRowBytes + chunk * 16 < static_cast<int>(k / 256) * 176;
  }
  __device__ void Load(const uint8_t* row, int q, int t) {
    const uint8_t* block = row + q * 176;
    LoadHead(block);
    high = EightBytes(block + 16 + 8 * t);
#pragma unroll
    for (int j = 0; j < 4; ++j) codes[j] = EightBytes(block + 48 + 32 * j + 8 * t);
  }
  __device__ uint2 Step(int s) const {
    const uint2 c = codes[s / 2];
    const int shift = 4 * (s & 1);
    return make_uint2(((c.x >> shift) & 0x0f0f0f0fu) | ((high.x >> s) & 0x01010101u) << 4,
                      ((c.y >> shift) & 0x0f0f0f0fu) | ((high.y >> s) & 0x01010101u) << 4);
  }
  __device__ float2 Scale(int s) const { return ScaleOf<0>(s); }
  __device__ void ScalePair(int t, float2* out) const { ScalePairOf<0>(t, out); }
};

template <>
struct StreamTile<ElementType::kQ6_K> {
  static constexpr int kStageValues = 256;
  static constexpr int kRowBytes = 224;
  static constexpr int kChunks = 14;
  static constexpr bool kPairs = true;
  static constexpr bool kHalves = true;
  static constexpr bool kUnsigned = false;
  static constexpr bool kSuperBlocks = true;
  static constexpr int kZero = 32;
  uint2 low[4];   // of half h and 32 bytes b at 2 h + b
  uint2 high[2];  // of each half
  uint4 scales;
  float scale;

  __device__ static int Place(int chunk, int64_t) { return chunk * 16; }
  __device__ static int Stride(int) { return kRowBytes; }
  __device__ static bool Inside(int stage, int chunk, int64_t k) {
    return stage * kRowBytes + chunk * 16 < static_cast<int>(k / 256) * 224;
  }
  __device__ void Load(const uint8_t* block, int, int t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) low[i] = EightBytes(block + 32 * i + 8 * t);
#pragma unroll
    for (int h = 0; h < 2; ++h) high[h] = EightBytes(block + 128 + 32 * h + 8 * t);
    scales = *reinterpret_cast<const uint4*>(block + 192);
    scale = HalfAt(block + 208);
  }
  __device__ static uint32_t Join(uint32_t low_word, uint32_t high_word, int g) {
    const uint32_t bits = g >= 2 ? high_word >> (2 * g - 4) : high_word << (4 - 2 * g);
    return ((low_word >> (g >= 2 ? 4 : 0)) & 0x0f0f0f0fu) | (bits & 0x30303030u);
  }
  __device__ uint2 Step(int s) const {
    const uint2 l = low[s / 4 * 2 + (s & 1)];
    const uint2 h = high[s / 4];
    return make_uint2(Join(l.x, h.x, s & 3), Join(l.y, h.y, s & 3));
  }
  __device__ int2 SubScales(int s) const {
    const uint32_t word = s < 4 ? (s < 2 ? scales.x : scales.y) : (s < 6 ? scales.z : scales.w);
    const uint32_t pair = word >> (16 * (s & 1));
    return make_int2(static_cast<int8_t>(pair & 255u), static_cast<int8_t>((pair >> 8) & 255u));
  }
};

// Blocks of 32 in planes: quants of a stage, then high bits, then scales.
template <int kQuants, int kHighBytes, int kScaleBytes, int kValues, bool pairs>
struct PlaneTile {
  static constexpr int kStageValues = kValues;
  static constexpr int kStageBlocks = kValues / 32;
  static constexpr int kQuantBytes = kStageBlocks * kQuants;
  static constexpr int kHighAt = kQuantBytes;
  static constexpr int kScalesAt = kHighAt + kStageBlocks * kHighBytes;
  static constexpr int kBytes = kScalesAt + kStageBlocks * kScaleBytes;
  static constexpr int kChunks = kBytes / 16;
  // An odd multiple of what four lanes read at once, so that rows fall into different banks.
  static constexpr int kRead = pairs ? 32 : 16;
  static constexpr int kRowBytes = (kBytes + kRead - 1) / (2 * kRead) * (2 * kRead) + kRead;
  static constexpr bool kPairs = pairs;
  static constexpr bool kHalves = false;
  static constexpr bool kUnsigned = false;
  static constexpr bool kSuperBlocks = false;
  // Parts begin where four chunks do.
  static_assert(kBytes % 16 == 0 && kScalesAt % 64 == 0 && kHighAt % 64 == 0);

  __device__ static int Place(int chunk, int64_t k) {
    const int blocks = static_cast<int>(k / 32);
    const int at = chunk * 16;
    if (at < kHighAt) return at;
    if (at < kScalesAt) return blocks * kQuants + at - kHighAt;
    return blocks * (kQuants + kHighBytes) + at - kScalesAt;
  }
  __device__ static int Stride(int chunk) {
    const int at = chunk * 16;
    return kStageBlocks * (at < kHighAt ? kQuants : at < kScalesAt ? kHighBytes : kScaleBytes);
  }
  __device__ static bool Inside(int stage, int chunk, int64_t k) {
    const int at = chunk * 16;
    const int block = at < kHighAt     ? at / kQuants
                      : at < kScalesAt ? (at - kHighAt) / (kHighBytes == 0 ? 1 : kHighBytes)
                                       : (at - kScalesAt) / kScaleBytes;
    return stage * kStageBlocks + block < static_cast<int>(k / 32);
  }
};

// Scales of eight blocks, or scales and mins, in shared memory: halves at a multiple of 16 bytes.
template <int kScaleBytes>
struct BlockHeads {
  const uint8_t* from;
  uint4 all[kScaleBytes / 2];

  // For At.
  __device__ void Load() {
#pragma unroll
    for (int i = 0; i < kScaleBytes / 2; ++i) all[i] = reinterpret_cast<const uint4*>(from)[i];
  }
  __device__ static float Half(uint32_t word, int i) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> (16 * i))));
  }
  __device__ static uint32_t WordOf(uint4 words, int i) {
    return i < 2 ? (i == 0 ? words.x : words.y) : (i == 2 ? words.z : words.w);
  }
  // Of block s, known when compiled.
  __device__ float2 At(int s) const {
    if constexpr (kScaleBytes == 2) return make_float2(Half(WordOf(all[0], s / 2), s % 2), 0.0f);
    const uint32_t word = WordOf(all[s / 4], s % 4);
    return make_float2(Half(word, 0), Half(word, 1));
  }
  // Of blocks 2 t and 2 t + 1.
  __device__ void Pair(int t, float2* out) const {
    if constexpr (kScaleBytes == 2) {
      const uint32_t word = WordAt(from + 4 * t);
      out[0] = make_float2(Half(word, 0), 0.0f);
      out[1] = make_float2(Half(word, 1), 0.0f);
    } else {
      const uint2 words = EightBytes(from + 8 * t);
      out[0] = make_float2(Half(words.x, 0), Half(words.x, 1));
      out[1] = make_float2(Half(words.y, 0), Half(words.y, 1));
    }
  }
};

// Four-bit codes: word t of block s, low halves first. Codes with a sign stand for what is left
// when their zero is taken away: four bits as bytes 16 times as large, five bits as they are.
template <int kHighBytes, int kScaleBytes, bool kSigned>
struct NibbleTile : PlaneTile<16, kHighBytes, kScaleBytes, 512, false> {
  using Plane = PlaneTile<16, kHighBytes, kScaleBytes, 512, false>;
  static constexpr bool kSixteenfold = kSigned && kHighBytes == 0;
  static constexpr int kDotStart = kSixteenfold ? kSixteenthsStart : kUnitsStart;
  uint32_t codes[8];
  uint32_t high[kHighBytes == 0 ? 1 : 8];  // the block's bits, from value 4 t on
  BlockHeads<kScaleBytes> heads;

  template <int kSteps>
  __device__ void LoadSteps(const uint8_t* row, int first, int t) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) codes[s] = WordAt(row + 16 * (first + s) + 4 * t);
    if constexpr (kHighBytes != 0) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const uint32_t bits = WordAt(row + Plane::kHighAt + 4 * (first + s)) >> (4 * t);
        high[s] = kSigned ? ~bits : bits;
      }
    }
    heads.from = row + Plane::kScalesAt + kScaleBytes * first;
  }
  __device__ void Load(const uint8_t* row, int q, int t) {
    LoadSteps<8>(row, 8 * q, t);
    heads.Load();
  }
  // Bit i of the low four to bit 4 of byte i; with a sign, to all from there on.
  __device__ static uint32_t Spread(uint32_t bits) {
    return (((bits & 15u) * 0x00204081u) & 0x01010101u) * (kSigned ? 0xf0u : 0x10u);
  }
  __device__ uint2 Step(int s) const {
    if constexpr (kSixteenfold) {
      return make_uint2(AndXor(codes[s] << 4, 0xf0f0f0f0u, 0x80808080u),
                        AndXor(codes[s], 0xf0f0f0f0u, 0x80808080u));
    }
    uint2 words = make_uint2(codes[s] & 0x0f0f0f0fu, (codes[s] >> 4) & 0x0f0f0f0fu);
    if constexpr (kHighBytes != 0) {
      words.x |= Spread(high[s]);
      words.y |= Spread(high[s] >> 16);
    }
    return words;
  }
  __device__ float2 Scale(int s) const { return heads.At(s); }
  __device__ void ScalePair(int t, float2* out) const { heads.Pair(t, out); }
};

template <>
struct StreamTile<ElementType::kQ4_0> : NibbleTile<0, 2, true> {
  static constexpr bool kHasMin = false;
};

template <>
struct StreamTile<ElementType::kQ4_1> : NibbleTile<0, 4, false> {
  static constexpr bool kHasMin = true;
};

template <>
struct StreamTile<ElementType::kQ5_0> : NibbleTile<4, 2, true> {
  static constexpr bool kHasMin = false;
};

template <>
struct StreamTile<ElementType::kQ5_1> : NibbleTile<4, 4, false> {
  static constexpr bool kHasMin = true;
};

template <>
struct StreamTile<ElementType::kQ8_0> : PlaneTile<32, 0, 2, 256, true> {
  static constexpr bool kHasMin = false;
  static constexpr int kDotStart = kUnitsStart;
  uint2 codes[8];
  BlockHeads<2> heads;

  template <int kSteps>
  __device__ void LoadSteps(const uint8_t* row, int first, int t) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) codes[s] = EightBytes(row + 32 * (first + s) + 8 * t);
    heads.from = row + kScalesAt + 2 * first;
  }
  __device__ void Load(const uint8_t* row, int, int t) {
    LoadSteps<8>(row, 0, t);
    heads.Load();
  }
  __device__ uint2 Step(int s) const { return codes[s]; }
  __device__ float2 Scale(int s) const { return heads.At(s); }
  __device__ void ScalePair(int t, float2* out) const { heads.Pair(t, out); }
};

}  // namespace minfer::kernels::cuda
