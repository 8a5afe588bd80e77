// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product with quantised weights, once for every instruction set.
//
// A tile is V::kRows weight rows by N activation rows. A vector's lanes are the tile's weight rows:
// the rows' bytes are transposed, four at a time, so that one instruction takes the same four
// values of every row against four activations spread to all lanes. Nothing is summed across lanes,
// each output element is one lane of one register, and so its additions have the order of the
// blocks, whatever the tile. The unpacked codes serve all N activation rows of the tile.
//
// V is the traits type of an ISA unit: see matmul_generic.h, which says what each operation means.
// It lives in the unit's namespace, so every function made from these templates is the unit's own.
#pragma once

#include "kernels/cpu/matmul_check.h"
#include "kernels/quant/blocks.h"

namespace minfer::kernels {

// One row of weights a lane; lanes past the last row repeat it.
template <class V>
struct TileRows {
  const uint8_t* row[V::kRows];
};

// Asks for part `part` of `Parts` of a block's share of the next tile, which begins at `ahead`
// (nullptr: of nothing). The rows of a tile are short streams far apart, which the processor's own
// prefetchers don't follow well: this doubles the speed of a matrix that is not in the caches. A
// super-block asks part by part, since only so many lines can be on their way at once.
template <class V, class Type, size_t Parts>
[[gnu::always_inline]] inline void Prefetch(const uint8_t* ahead, size_t part) {
  constexpr size_t kBytes = V::kRows * Type::kWeightBytes / Parts;
  if (ahead == nullptr) return;
#pragma GCC unroll 64
  for (size_t i = 0; i < kBytes; i += 64) V::Prefetch(ahead + part * kBytes + i);
}

// The codes of 16 packed bytes a row: values 0..15 in codes[0..3], 16..31 in codes[4..7].
template <class V>
[[gnu::always_inline]] inline void UnpackNibbles(const TileRows<V>& rows, size_t offset,
                                                 typename V::I32* codes) {
  typename V::I32 bytes[4];
  V::LoadTransposed(rows.row, offset, bytes);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    codes[j] = V::And(bytes[j], 0x0f0f0f0fu);
    codes[4 + j] = V::And(V::template ShiftRight<4>(bytes[j]), 0x0f0f0f0fu);
  }
}

// First dword of a block: scale in the low half, whatever follows it in the high half.
template <class V>
[[gnu::always_inline]] inline typename V::I32 LoadFirstDword(const TileRows<V>& rows,
                                                             size_t offset) {
  typename V::I32 head[4];
  V::LoadTransposed(rows.row, offset, head);
  return head[0];
}

template <class V>
[[gnu::always_inline]] inline typename V::F32 LowHalf(typename V::I32 dwords) {
  return V::HalfToFloat(V::And(dwords, 0xffffu));
}

template <class V>
[[gnu::always_inline]] inline typename V::F32 HighHalf(typename V::I32 dwords) {
  return V::HalfToFloat(V::template ShiftRight<16>(dwords));
}

// out[n] = correction + the dot products of `Steps` dwords of codes with the activations at
// q + n * stride. Codes are at most 15, so 32 of them fit the 16-bit sums of units without VNNI.
template <class V, int N, int Steps>
[[gnu::always_inline]] inline void DotSteps(const typename V::I32* codes, const uint8_t* q,
                                            size_t stride, typename V::Dot* dots) {
#pragma GCC unroll 8
  for (int j = 0; j < Steps; ++j) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      dots[n] =
          V::DotStep(dots[n], codes[j],
                     V::Spread(q + static_cast<size_t>(n) * stride + 4 * static_cast<size_t>(j)));
    }
  }
}

// The scale, sum and quants of one ActivationBlock32.
inline constexpr size_t kScale32 = offsetof(ActivationBlock32, scale);
inline constexpr size_t kScaledSum32 = offsetof(ActivationBlock32, scaled_sum);
inline constexpr size_t kNegatedSum32 = offsetof(ActivationBlock32, negated_sum);
inline constexpr size_t kQuants32 = offsetof(ActivationBlock32, quants);

// Each type: the sizes of its blocks and Add, which adds one block's products to sums[0..N)
// and asks for the bytes at `ahead`.

struct TileQ4_0 {
  static constexpr size_t kWeightBytes = sizeof(BlockQ4_0);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock32);
  static constexpr int kValues = kBlock;

  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, const uint8_t* ahead) {
    Prefetch<V, TileQ4_0, 1>(ahead, 0);
    typename V::I32 codes[8];
    UnpackNibbles<V>(rows, offset + 2, codes);
    const typename V::F32 scale = LowHalf<V>(LoadFirstDword<V>(rows, offset));
    typename V::I32 corrections[N];  // -8 * sum(q)
    typename V::Dot dots[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      corrections[n] = V::template ShiftLeft<3>(V::Spread(a + n * stride + kNegatedSum32));
      dots[n] = V::DotBegin(corrections[n]);
    }
    DotSteps<V, N, 8>(codes, a + kQuants32, stride, dots);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(scale, V::SpreadFloat(a + n * stride + kScale32));
      sums[n] = V::Fma(V::ToFloat(V::DotEnd(dots[n], corrections[n])), factor, sums[n]);
    }
  }
};

struct TileQ4_1 {
  static constexpr size_t kWeightBytes = sizeof(BlockQ4_1);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock32);
  static constexpr int kValues = kBlock;

  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, const uint8_t* ahead) {
    Prefetch<V, TileQ4_1, 1>(ahead, 0);
    typename V::I32 codes[8];
    UnpackNibbles<V>(rows, offset + 4, codes);
    const typename V::I32 head = LoadFirstDword<V>(rows, offset);
    const typename V::F32 scale = LowHalf<V>(head);
    const typename V::F32 min = HighHalf<V>(head);
    typename V::Dot dots[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(V::Zero());
    DotSteps<V, N, 8>(codes, a + kQuants32, stride, dots);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(scale, V::SpreadFloat(a + n * stride + kScale32));
      sums[n] = V::Fma(V::ToFloat(V::DotEnd(dots[n], V::Zero())), factor, sums[n]);
      sums[n] = V::Fma(min, V::SpreadFloat(a + n * stride + kScaledSum32), sums[n]);
    }
  }
};

struct TileQ8_0 {
  static constexpr size_t kWeightBytes = sizeof(BlockQ8_0);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock32);
  static constexpr int kValues = kBlock;

  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, const uint8_t* ahead) {
    Prefetch<V, TileQ8_0, 1>(ahead, 0);
    typename V::I32 codes[8];  // as unsigned: 128 more
    V::LoadTransposed(rows.row, offset + 2, codes);
    V::LoadTransposed(rows.row, offset + 18, codes + 4);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) codes[j] = V::Xor(codes[j], 0x80808080u);
    const typename V::F32 scale = LowHalf<V>(LoadFirstDword<V>(rows, offset));
    typename V::I32 totals[N];  // from -128 * sum(q)
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      totals[n] = V::template ShiftLeft<7>(V::Spread(a + n * stride + kNegatedSum32));
    }
    AddBytes<V, N>(codes, a + kQuants32, stride, totals);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(scale, V::SpreadFloat(a + n * stride + kScale32));
      sums[n] = V::Fma(V::ToFloat(totals[n]), factor, sums[n]);
    }
  }

 private:
  // totals[n] += dot of 32 unsigned codes. Full bytes do not fit 16-bit sums, so a unit without
  // VNNI takes their two halves in turn.
  template <class V, int N>
  [[gnu::always_inline]] static inline void AddBytes(const typename V::I32* codes, const uint8_t* q,
                                                     size_t stride, typename V::I32* totals) {
    if constexpr (V::kExactDot) {
      DotSteps<V, N, 8>(codes, q, stride, totals);
    } else {
      typename V::I32 halves[8];
      typename V::Dot dots[N];
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) halves[j] = V::And(codes[j], 0x0f0f0f0fu);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(V::Zero());
      DotSteps<V, N, 8>(halves, q, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        totals[n] = V::DotEnd(dots[n], totals[n]);
        dots[n] = V::DotBegin(V::Zero());
      }
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        halves[j] = V::And(V::template ShiftRight<4>(codes[j]), 0x0f0f0f0fu);
      }
      DotSteps<V, N, 8>(halves, q, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        totals[n] = V::Add(totals[n], V::template ShiftLeft<4>(V::DotEnd(dots[n], V::Zero())));
      }
    }
  }
};

inline constexpr size_t kScale256 = offsetof(ActivationBlock256, scale);
inline constexpr size_t kSums16 = offsetof(ActivationBlock256, sums_16);
inline constexpr size_t kSums32 = offsetof(ActivationBlock256, sums_32);
inline constexpr size_t kQuants256 = offsetof(ActivationBlock256, quants);

struct TileQ4_K {
  static constexpr size_t kWeightBytes = sizeof(BlockQ4_K);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock256);
  static constexpr int kValues = kSuperBlock;

  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, const uint8_t* ahead) {
    typename V::I32 head[4];  // scale and min, then the 12 bytes of scales
    V::LoadTransposed(rows.row, offset, head);
    typename V::I32 scales[8];
    typename V::I32 min_pairs[4];
    Scales<V>(head + 1, scales, min_pairs);
    typename V::I32 totals[N];
    for (int n = 0; n < N; ++n) totals[n] = V::Zero();
#pragma GCC unroll 1
    for (size_t p = 0; p < 4; ++p) {  // 64 values: sub-blocks 2p (low halves) and 2p + 1
      Prefetch<V, TileQ4_K, 4>(ahead, p);
      typename V::I32 first[8];
      typename V::I32 second[8];
      UnpackNibbles<V>(rows, offset + 16 + 32 * p, first);
      UnpackNibbles<V>(rows, offset + 32 + 32 * p, second);
      const uint8_t* q = a + kQuants256 + 64 * p;
      SubBlock<V, N>(first, second, q, stride, scales[2 * p], totals);
      SubBlock<V, N>(first + 4, second + 4, q + 32, stride, scales[2 * p + 1], totals);
    }
    const typename V::F32 scale = LowHalf<V>(head[0]);
    const typename V::F32 min = HighHalf<V>(head[0]);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      typename V::I32 mins = V::Zero();
#pragma GCC unroll 4
      for (size_t p = 0; p < 4; ++p) {
        mins = V::PairDot(mins, min_pairs[p], V::Spread(a + n * stride + kSums32 + 4 * p));
      }
      const typename V::F32 factor = V::SpreadFloat(a + n * stride + kScale256);
      sums[n] = V::Fma(V::ToFloat(totals[n]), V::Mul(scale, factor), sums[n]);
      sums[n] = V::FmaNegated(V::ToFloat(mins), V::Mul(min, factor), sums[n]);
    }
  }

 private:
  // packed: the 12 bytes of scales and mins. scales[j] is ready for DotEndScaled; min_pairs[p]
  // holds mins 2p and 2p + 1 as 16-bit numbers.
  template <class V>
  [[gnu::always_inline]] static inline void Scales(const typename V::I32* packed,
                                                   typename V::I32* scales,
                                                   typename V::I32* min_pairs) {
    const typename V::I32 scale_bytes[2] = {
        V::And(packed[0], 0x3f3f3f3fu),
        V::Or(V::And(packed[2], 0x0f0f0f0fu),
              V::And(V::template ShiftRight<2>(packed[0]), 0x30303030u))};
    const typename V::I32 min_bytes[2] = {
        V::And(packed[1], 0x3f3f3f3fu),
        V::Or(V::And(V::template ShiftRight<4>(packed[2]), 0x0f0f0f0fu),
              V::And(V::template ShiftRight<2>(packed[1]), 0x30303030u))};
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const typename V::I32 s = scale_bytes[h];
      scales[4 * h] = V::DotScale(V::And(s, 0xffu));
      scales[4 * h + 1] = V::DotScale(V::And(V::template ShiftRight<8>(s), 0xffu));
      scales[4 * h + 2] = V::DotScale(V::And(V::template ShiftRight<16>(s), 0xffu));
      scales[4 * h + 3] = V::DotScale(V::template ShiftRight<24>(s));
      const typename V::I32 m = min_bytes[h];
      min_pairs[2 * h] = V::Or(V::And(m, 0xffu), V::And(V::template ShiftLeft<8>(m), 0x00ff0000u));
      min_pairs[2 * h + 1] = V::Or(V::And(V::template ShiftRight<16>(m), 0xffu),
                                   V::And(V::template ShiftRight<8>(m), 0x00ff0000u));
    }
  }

  template <class V, int N>
  [[gnu::always_inline]] static inline void SubBlock(const typename V::I32* first,
                                                     const typename V::I32* second,
                                                     const uint8_t* q, size_t stride,
                                                     typename V::I32 scale,
                                                     typename V::I32* totals) {
    typename V::Dot dots[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(V::Zero());
    DotSteps<V, N, 4>(first, q, stride, dots);
    DotSteps<V, N, 4>(second, q + 16, stride, dots);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) totals[n] = V::DotEndScaled(totals[n], dots[n], scale);
  }
};

struct TileQ6_K {
  static constexpr size_t kWeightBytes = sizeof(BlockQ6_K);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock256);
  static constexpr int kValues = kSuperBlock;

  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, const uint8_t* ahead) {
    typename V::I32 scales[16];
    typename V::I32 scale_pairs[8];
    Scales<V>(rows, offset + offsetof(BlockQ6_K, scales), scales, scale_pairs);
    typename V::I32 totals[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {  // the codes stand 32 too high
      typename V::I32 excess = V::Zero();
#pragma GCC unroll 8
      for (size_t p = 0; p < 8; ++p) {
        excess = V::PairDot(excess, scale_pairs[p], V::Spread(a + n * stride + kSums16 + 4 * p));
      }
      totals[n] = V::Sub(V::Zero(), V::template ShiftLeft<5>(excess));
    }
#pragma GCC unroll 1
    for (size_t part = 0; part < 4; ++part) {  // 16 values of each of four groups of 32
      Prefetch<V, TileQ6_K, 4>(ahead, part);
      const size_t half = part / 2;
      const size_t side = part % 2;
      typename V::I32 low[8];   // of groups 0 (0..3) and 2 (4..7)
      typename V::I32 next[8];  // of groups 1 and 3
      typename V::I32 high[4];
      UnpackNibbles<V>(rows, offset + 64 * half + 16 * side, low);
      UnpackNibbles<V>(rows, offset + 64 * half + 32 + 16 * side, next);
      V::LoadTransposed(rows.row, offset + 128 + 32 * half + 16 * side, high);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        low[j] = V::Or(low[j], V::And(V::template ShiftLeft<4>(high[j]), 0x30303030u));
        next[j] = V::Or(next[j], V::And(V::template ShiftLeft<2>(high[j]), 0x30303030u));
        low[4 + j] = V::Or(low[4 + j], V::And(high[j], 0x30303030u));
        next[4 + j] = V::Or(next[4 + j], V::And(V::template ShiftRight<2>(high[j]), 0x30303030u));
      }
      const uint8_t* q = a + kQuants256 + 128 * half + 16 * side;
      const typename V::I32* s = scales + 8 * half + side;
      SubBlock<V, N>(low, q, stride, s[0], totals);
      SubBlock<V, N>(next, q + 32, stride, s[2], totals);
      SubBlock<V, N>(low + 4, q + 64, stride, s[4], totals);
      SubBlock<V, N>(next + 4, q + 96, stride, s[6], totals);
    }
    typename V::I32 tail[4];  // the scale is the last two bytes
    V::LoadTransposed(rows.row, offset + kWeightBytes - 16, tail);
    const typename V::F32 scale = HighHalf<V>(tail[3]);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(scale, V::SpreadFloat(a + n * stride + kScale256));
      sums[n] = V::Fma(V::ToFloat(totals[n]), factor, sums[n]);
    }
  }

 private:
  template <class V>
  [[gnu::always_inline]] static inline void Scales(const TileRows<V>& rows, size_t offset,
                                                   typename V::I32* scales,
                                                   typename V::I32* pairs) {
    typename V::I32 bytes[4];
    V::LoadTransposed(rows.row, offset, bytes);
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      const typename V::I32 s[4] = {
          V::template ShiftRightSigned<24>(V::template ShiftLeft<24>(bytes[t])),
          V::template ShiftRightSigned<24>(V::template ShiftLeft<16>(bytes[t])),
          V::template ShiftRightSigned<24>(V::template ShiftLeft<8>(bytes[t])),
          V::template ShiftRightSigned<24>(bytes[t])};
      for (int i = 0; i < 4; ++i) scales[4 * t + i] = V::DotScale(s[i]);
      pairs[2 * t] = V::Or(V::And(s[0], 0xffffu), V::template ShiftLeft<16>(s[1]));
      pairs[2 * t + 1] = V::Or(V::And(s[2], 0xffffu), V::template ShiftLeft<16>(s[3]));
    }
  }

  // 16 values. Two dwords of codes up to 63 are all that fit the 16-bit sums of units without VNNI.
  template <class V, int N>
  [[gnu::always_inline]] static inline void SubBlock(const typename V::I32* codes, const uint8_t* q,
                                                     size_t stride, typename V::I32 scale,
                                                     typename V::I32* totals) {
    constexpr int kSteps = V::kExactDot ? 4 : 2;
#pragma GCC unroll 2
    for (int j = 0; j < 4; j += kSteps) {
      typename V::Dot dots[N];
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) dots[n] = V::DotBegin(V::Zero());
      DotSteps<V, N, kSteps>(codes + j, q + 4 * j, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) totals[n] = V::DotEndScaled(totals[n], dots[n], scale);
    }
  }
};

}  // namespace minfer::kernels
