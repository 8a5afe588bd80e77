// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The tiles of the types with super-blocks of 256 values; see matmul_tiles.h.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/cpu/matmul_tiles.h"

namespace minfer::kernels {

inline constexpr size_t kScale256 = offsetof(ActivationBlock256, scale);
inline constexpr size_t kSums16 = offsetof(ActivationBlock256, sums_16);
inline constexpr size_t kSums32 = offsetof(ActivationBlock256, sums_32);
inline constexpr size_t kQuants256 = offsetof(ActivationBlock256, quants);

// Q4_K and Q5_K: eight sub-blocks of 32 values with scales and mins of six bits.
template <class Block>
struct TileScaleMin {
  static constexpr size_t kWeightBytes = sizeof(Block);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock256);
  static constexpr int kValues = kSuperBlock;

  // Adds one block's products to sums[0..N) and asks for the bytes `ahead` of it.
  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, size_t ahead) {
    typename V::I32 head[4];  // scale and min, then the 12 bytes of scales
    V::LoadTransposed(rows.row, offset, head);
    typename V::I32 scales[8];
    typename V::I32 min_pairs[4];
    Scales<V>(head + 1, scales, min_pairs);
    typename V::I32 high[8];  // the next two sub-blocks' bits are the lowest of their bytes
    if constexpr (kFiveBits) {
      V::LoadTransposed(rows.row, offset + 16, high);
      V::LoadTransposed(rows.row, offset + 32, high + 4);
    }
    typename V::I32 totals[N];
    for (int n = 0; n < N; ++n) totals[n] = V::Zero();
#pragma GCC unroll 1
    for (size_t p = 0; p < 4; ++p) {  // 64 values: sub-blocks 2p (low halves) and 2p + 1
      Prefetch<V>(rows, offset + kWeightBytes / 4 * p, ahead);
      typename V::I32 even[8];
      typename V::I32 odd[8];
      UnpackPair<V>(rows, offset + offsetof(Block, quants) + 32 * p, even, odd);
      if constexpr (kFiveBits) AddHighBits<V>(high, even, odd);
      const uint8_t* q = a + kQuants256 + 64 * p;
      AddScaledDots<V, N, kLargest, 8>(even, q, stride, scales[2 * p], totals);
      AddScaledDots<V, N, kLargest, 8>(odd, q + 32, stride, scales[2 * p + 1], totals);
    }
    const typename V::F32 scale = LowHalf<V>(head[0]);
    const typename V::F32 min = HighHalf<V>(head[0]);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::I32 mins = PairSum<V, 4>(min_pairs, a + n * stride + kSums32);
      const typename V::F32 factor = V::SpreadFloat(a + n * stride + kScale256);
      sums[n] = V::Fma(V::ToFloat(totals[n]), V::Mul(scale, factor), sums[n]);
      sums[n] = V::FmaNegated(V::ToFloat(mins), V::Mul(min, factor), sums[n]);
    }
  }

 private:
  static constexpr bool kFiveBits = std::is_same_v<Block, BlockQ5_K>;
  static constexpr int kLargest = kFiveBits ? 31 : 15;

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

  // The codes of 32 bytes: a sub-block in their low halves, the next in their high ones.
  template <class V>
  [[gnu::always_inline]] static inline void UnpackPair(const TileRows<V>& rows, size_t offset,
                                                       typename V::I32* even,
                                                       typename V::I32* odd) {
    typename V::I32 bytes[8];
    V::LoadTransposed(rows.row, offset, bytes);
    V::LoadTransposed(rows.row, offset + 16, bytes + 4);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      even[j] = V::And(bytes[j], 0x0f0f0f0fu);
      odd[j] = V::And(V::template ShiftRight<4>(bytes[j]), 0x0f0f0f0fu);
    }
  }

  // Adds bits 0 and 1 of `high` to the codes and shifts them out.
  template <class V>
  [[gnu::always_inline]] static inline void AddHighBits(typename V::I32* high,
                                                        typename V::I32* even,
                                                        typename V::I32* odd) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      even[j] = V::Or(even[j], V::And(V::template ShiftLeft<4>(high[j]), 0x10101010u));
      odd[j] = V::Or(odd[j], V::And(V::template ShiftLeft<3>(high[j]), 0x10101010u));
      high[j] = V::template ShiftRight<2>(high[j]);
    }
  }
};

// What stands beside the codes of a super-block with sixteen sub-blocks.
template <class V>
struct Scales16 {
  typename V::I32 scales[4];  // four signed bytes each
  typename V::I32 mins[4];    // four unsigned bytes each, of types with kHasMin
  typename V::F32 scale;
  typename V::F32 min;
};

// Sixteen sub-blocks of 16 values: value = scale * scales[j] * (code - kExcess) - min * mins[j].
// A format says how its scales and codes are unpacked, the largest code and the excess.
template <class Format>
struct Tile16s {
  static constexpr size_t kWeightBytes = sizeof(typename Format::Block);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock256);
  static constexpr int kValues = kSuperBlock;

  // Adds one block's products to sums[0..N) and asks for the bytes `ahead` of it.
  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, size_t ahead) {
    Scales16<V> w;
    Format::template UnpackScales<V>(rows, offset, w);
    typename V::I32 scales[16];
    typename V::I32 pairs[8];
    Split<V>(w.scales, scales, pairs);
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) scales[j] = V::DotScale(scales[j]);
    typename V::I32 totals[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      totals[n] = V::Zero();
      if constexpr (Format::kExcess > 0) {
        const typename V::I32 excess = PairSum<V, 8>(pairs, a + n * stride + kSums16);
        totals[n] = V::Sub(totals[n], Times<V, Format::kExcess>(excess));
      }
    }
#pragma GCC unroll 1
    for (size_t part = 0; part < 4; ++part) {  // 16 values of each of four groups of 32
      Prefetch<V>(rows, offset + kWeightBytes / 4 * part, ahead);
      const size_t half = part / 2;
      const size_t side = part % 2;
      typename V::I32 codes[16];  // four dwords a group
      Format::template Unpack<V>(rows, offset, half, side, codes);
      const uint8_t* q = a + kQuants256 + 128 * half + 16 * side;
      const typename V::I32* s = scales + 8 * half + side;
#pragma GCC unroll 4
      for (int g = 0; g < 4; ++g) {
        AddScaledDots<V, N, Format::kLargest, 4>(codes + 4 * g, q + 32 * g, stride, s[2 * g],
                                                 totals);
      }
    }
    if constexpr (Format::kHasMin) {
      typename V::I32 unused[16];
      Split<V>(w.mins, unused, pairs);
    }
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::SpreadFloat(a + n * stride + kScale256);
      sums[n] = V::Fma(V::ToFloat(totals[n]), V::Mul(w.scale, factor), sums[n]);
      if constexpr (Format::kHasMin) {
        const typename V::I32 mins = PairSum<V, 8>(pairs, a + n * stride + kSums16);
        sums[n] = V::FmaNegated(V::ToFloat(mins), V::Mul(w.min, factor), sums[n]);
      }
    }
  }

 private:
  // Sixteen signed bytes, one a lane's number, and two by two as 16-bit numbers.
  template <class V>
  [[gnu::always_inline]] static inline void Split(const typename V::I32* bytes,
                                                  typename V::I32* numbers,
                                                  typename V::I32* pairs) {
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      typename V::I32* s = numbers + 4 * t;
      s[0] = V::template ShiftRightSigned<24>(V::template ShiftLeft<24>(bytes[t]));
      s[1] = V::template ShiftRightSigned<24>(V::template ShiftLeft<16>(bytes[t]));
      s[2] = V::template ShiftRightSigned<24>(V::template ShiftLeft<8>(bytes[t]));
      s[3] = V::template ShiftRightSigned<24>(bytes[t]);
      pairs[2 * t] = V::Or(V::And(s[0], 0xffffu), V::template ShiftLeft<16>(s[1]));
      pairs[2 * t + 1] = V::Or(V::And(s[2], 0xffffu), V::template ShiftLeft<16>(s[3]));
    }
  }
};

// Codes of two bits: group g's are bits 2g and 2g + 1 of 16 bytes.
template <class V>
[[gnu::always_inline]] inline void UnpackTwoBits(const TileRows<V>& rows, size_t offset,
                                                 typename V::I32* codes) {
  typename V::I32 bytes[4];
  V::LoadTransposed(rows.row, offset, bytes);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    codes[j] = V::And(bytes[j], 0x03030303u);
    codes[4 + j] = V::And(V::template ShiftRight<2>(bytes[j]), 0x03030303u);
    codes[8 + j] = V::And(V::template ShiftRight<4>(bytes[j]), 0x03030303u);
    codes[12 + j] = V::And(V::template ShiftRight<6>(bytes[j]), 0x03030303u);
  }
}

struct FormatQ2_K {
  using Block = BlockQ2_K;
  static constexpr int kLargest = 3;
  static constexpr int kExcess = 0;
  static constexpr bool kHasMin = true;

  template <class V>
  [[gnu::always_inline]] static inline void UnpackScales(const TileRows<V>& rows, size_t offset,
                                                         Scales16<V>& w) {
    typename V::I32 bytes[4];
    V::LoadTransposed(rows.row, offset, bytes);
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      w.scales[t] = V::And(bytes[t], 0x0f0f0f0fu);
      w.mins[t] = V::And(V::template ShiftRight<4>(bytes[t]), 0x0f0f0f0fu);
    }
    typename V::I32 tail[4];  // scale and min are the last four bytes
    V::LoadTransposed(rows.row, offset + sizeof(Block) - 16, tail);
    w.scale = LowHalf<V>(tail[3]);
    w.min = HighHalf<V>(tail[3]);
  }

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   size_t half, size_t side,
                                                   typename V::I32* codes) {
    UnpackTwoBits<V>(rows, offset + offsetof(Block, quants) + 32 * half + 16 * side, codes);
  }
};

struct FormatQ3_K {
  using Block = BlockQ3_K;
  static constexpr int kLargest = 7;
  static constexpr int kExcess = 4;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void UnpackScales(const TileRows<V>& rows, size_t offset,
                                                         Scales16<V>& w) {
    typename V::I32 tail[4];  // two bytes of codes, twelve of scales, and the scale
    V::LoadTransposed(rows.row, offset + sizeof(Block) - 16, tail);
    typename V::I32 packed[3];
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      packed[i] =
          V::Or(V::template ShiftRight<16>(tail[i]), V::template ShiftLeft<16>(tail[i + 1]));
    }
    const typename V::I32 low[4] = {packed[0], packed[1], V::template ShiftRight<4>(packed[0]),
                                    V::template ShiftRight<4>(packed[1])};
    const typename V::I32 high[4] = {V::template ShiftLeft<4>(packed[2]),
                                     V::template ShiftLeft<2>(packed[2]), packed[2],
                                     V::template ShiftRight<2>(packed[2])};
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      const typename V::I32 six =  // bit 5 turned over: 32 less in six bits of two's complement
          V::Xor(V::Or(V::And(low[t], 0x0f0f0f0fu), V::And(high[t], 0x30303030u)), 0x20202020u);
      // Bit 5 into bits 6 and 7.
      w.scales[t] = V::Or(six, V::Or(V::template ShiftLeft<1>(V::And(six, 0x20202020u)),
                                     V::template ShiftLeft<2>(V::And(six, 0x20202020u))));
    }
    w.scale = HighHalf<V>(tail[3]);
  }

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   size_t half, size_t side,
                                                   typename V::I32* codes) {
    UnpackTwoBits<V>(rows, offset + offsetof(Block, quants) + 32 * half + 16 * side, codes);
    typename V::I32 high[4];  // bit 4 half + g belongs to group g
    V::LoadTransposed(rows.row, offset + 16 * side, high);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      if (half == 1) high[j] = V::template ShiftRight<4>(high[j]);
      codes[j] = V::Or(codes[j], V::And(V::template ShiftLeft<2>(high[j]), 0x04040404u));
      codes[4 + j] = V::Or(codes[4 + j], V::And(V::template ShiftLeft<1>(high[j]), 0x04040404u));
      codes[8 + j] = V::Or(codes[8 + j], V::And(high[j], 0x04040404u));
      codes[12 + j] = V::Or(codes[12 + j], V::And(V::template ShiftRight<1>(high[j]), 0x04040404u));
    }
  }
};

struct FormatQ6_K {
  using Block = BlockQ6_K;
  static constexpr int kLargest = 63;
  static constexpr int kExcess = 32;
  static constexpr bool kHasMin = false;

  template <class V>
  [[gnu::always_inline]] static inline void UnpackScales(const TileRows<V>& rows, size_t offset,
                                                         Scales16<V>& w) {
    V::LoadTransposed(rows.row, offset + offsetof(Block, scales), w.scales);
    typename V::I32 tail[4];  // the scale is the last two bytes
    V::LoadTransposed(rows.row, offset + sizeof(Block) - 16, tail);
    w.scale = HighHalf<V>(tail[3]);
  }

  template <class V>
  [[gnu::always_inline]] static inline void Unpack(const TileRows<V>& rows, size_t offset,
                                                   size_t half, size_t side,
                                                   typename V::I32* codes) {
    typename V::I32 low[8];   // of groups 0 (0..3) and 2 (4..7)
    typename V::I32 next[8];  // of groups 1 and 3
    typename V::I32 high[4];
    UnpackNibbles<V>(rows, offset + 64 * half + 16 * side, low);
    UnpackNibbles<V>(rows, offset + 64 * half + 32 + 16 * side, next);
    V::LoadTransposed(rows.row, offset + offsetof(Block, high) + 32 * half + 16 * side, high);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      codes[j] = V::Or(low[j], V::And(V::template ShiftLeft<4>(high[j]), 0x30303030u));
      codes[4 + j] = V::Or(next[j], V::And(V::template ShiftLeft<2>(high[j]), 0x30303030u));
      codes[8 + j] = V::Or(low[4 + j], V::And(high[j], 0x30303030u));
      codes[12 + j] = V::Or(next[4 + j], V::And(V::template ShiftRight<2>(high[j]), 0x30303030u));
    }
  }
};

// Eight sub-blocks of 32 values, whose codes are looked up, with signed scales of six bits.
struct TileIQ4_XS {
  static constexpr size_t kWeightBytes = sizeof(BlockIQ4_XS);
  static constexpr size_t kActivationBytes = sizeof(ActivationBlock256);
  static constexpr int kValues = kSuperBlock;

  // Adds one block's products to sums[0..N) and asks for the bytes `ahead` of it.
  template <class V, int N>
  [[gnu::always_inline]] static inline void Add(const TileRows<V>& rows, size_t offset,
                                                const uint8_t* a, size_t stride,
                                                typename V::F32* sums, size_t ahead) {
    typename V::I32 head[4];  // the scale, upper and lower bits of the scales
    V::LoadTransposed(rows.row, offset, head);
    typename V::I32 scales[8];
    typename V::I32 pairs[4];
    Scales<V>(head, scales, pairs);
    typename V::I32 totals[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {  // the codes may stand 128 too high
      const typename V::I32 excess = PairSum<V, 4>(pairs, a + n * stride + kSums32);
      totals[n] = V::Sub(V::Zero(), Times<V, kByteExcess<V>>(excess));
    }
#pragma GCC unroll 1
    for (size_t j = 0; j < 8; ++j) {
      if (j % 2 == 0) Prefetch<V>(rows, offset + kWeightBytes / 8 * j, ahead);
      typename V::I32 codes[8];
      UnpackNibbles<V>(rows, offset + offsetof(BlockIQ4_XS, quants) + 16 * j, codes);
      LookUpIq4<V>(codes);
      typename V::I32 dots[N];
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) dots[n] = V::Zero();
      AddDotsOfBytes<V, N>(codes, a + kQuants256 + 32 * j, stride, dots);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) totals[n] = V::Add(totals[n], V::MulInt(dots[n], scales[j]));
    }
    const typename V::F32 scale = LowHalf<V>(head[0]);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const typename V::F32 factor = V::Mul(scale, V::SpreadFloat(a + n * stride + kScale256));
      sums[n] = V::Fma(V::ToFloat(totals[n]), factor, sums[n]);
    }
  }

 private:
  template <class V>
  [[gnu::always_inline]] static inline void Scales(const typename V::I32* head,
                                                   typename V::I32* scales,
                                                   typename V::I32* pairs) {
    typename V::I32 low = head[1];                               // four bits a scale
    typename V::I32 high = V::template ShiftRight<12>(head[0]);  // two bits a scale, from bit 4
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const typename V::I32 six = V::Or(V::And(low, 0x0fu), V::And(high, 0x30u));
      scales[j] = V::Sub(six, V::Xor(V::Zero(), 32));
      low = V::template ShiftRight<4>(low);
      high = V::template ShiftRight<2>(high);
    }
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      pairs[p] =
          V::Or(V::And(scales[2 * p], 0xffffu), V::template ShiftLeft<16>(scales[2 * p + 1]));
    }
  }
};

}  // namespace minfer::kernels
