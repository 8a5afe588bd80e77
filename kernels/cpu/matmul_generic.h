// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Scalar traits of the matrix products: what each operation of the shared body means. The vector
// units do the same on their registers.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/quant/flushed_math.h"
#include "kernels/quant/half.h"

namespace minfer::kernels::generic {

struct MatMulTraits {
  // Quantised products: weight rows in a tile (lanes) and the most activation rows in one, few
  // because a compiler unrolls all of a tile.
  static constexpr int kRows = 4;
  static constexpr int kColumns = 2;
  static constexpr int kDotColumns = 2;  // whose sums fit the registers
  // Float products: the same, for tiles whose vectors lie along a row.
  static constexpr int kFloatRows = 1;
  static constexpr int kFloatColumns = 4;
  // A vector of sixteen is two registers: tiles of several activation rows take one half of all
  // vectors, then the other, so that more sums fit. Half, LoadHalf* and Join exist.
  static constexpr bool kFloatHalves = false;

  struct I32 {  // one 32-bit number a weight row
    uint32_t lane[kRows];
  };
  struct F32 {
    float lane[kRows];
  };

  template <class Fn>
  static I32 Map(Fn fn) {
    I32 out;
    for (int i = 0; i < kRows; ++i) out.lane[i] = fn(i);
    return out;
  }
  template <class Fn>
  static F32 MapF32(Fn fn) {
    F32 out;
    for (int i = 0; i < kRows; ++i) out.lane[i] = fn(i);
    return out;
  }

  // out[j] lane i = dword j of the 16 bytes at rows[i] + offset.
  static void LoadTransposed(const uint8_t* const* rows, size_t offset, I32* out) {
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < kRows; ++i) std::memcpy(&out[j].lane[i], rows[i] + offset + 4 * j, 4);
    }
  }

  // A hint that the cache line at p, which need not exist, will be read soon.
  static void Prefetch(const uint8_t* /*p*/) {}
  static I32 Zero() { return {}; }
  static I32 And(I32 a, uint32_t bits) {
    return Map([&](int i) { return a.lane[i] & bits; });
  }
  static I32 Xor(I32 a, uint32_t bits) {
    return Map([&](int i) { return a.lane[i] ^ bits; });
  }
  static I32 Or(I32 a, I32 b) {
    return Map([&](int i) { return a.lane[i] | b.lane[i]; });
  }
  static I32 Add(I32 a, I32 b) {
    return Map([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static I32 Sub(I32 a, I32 b) {
    return Map([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static I32 MulInt(I32 a, I32 b) {
    return Map([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  template <int Count>
  static I32 ShiftLeft(I32 a) {
    return Map([&](int i) { return a.lane[i] << Count; });
  }
  template <int Count>
  static I32 ShiftRight(I32 a) {
    return Map([&](int i) { return a.lane[i] >> Count; });
  }
  template <int Count>
  static I32 ShiftRightSigned(I32 a) {
    return Map(
        [&](int i) { return static_cast<uint32_t>(static_cast<int32_t>(a.lane[i]) >> Count); });
  }
  // The four bytes at p in every lane.
  static I32 Spread(const uint8_t* p) {
    uint32_t value;
    std::memcpy(&value, p, sizeof(value));
    return Map([&](int) { return value; });
  }
  // Each byte of a, 0 to 15, becomes that entry of a table of sixteen.
  static I32 LookUp(const uint8_t* table, I32 a) {
    return Map([&](int i) {
      uint32_t found = 0;
      for (int byte = 0; byte < 4; ++byte) {
        found |= static_cast<uint32_t>(table[(a.lane[i] >> (8 * byte)) & 15]) << (8 * byte);
      }
      return found;
    });
  }
  // Adds 16 to byte b of codes where bit 4 j + b of `bits` is set.
  static I32 AddFifthBits(I32 codes, I32 bits, int j) {
    return Map([&](int i) {
      uint32_t sum = codes.lane[i];
      for (int byte = 0; byte < 4; ++byte) {
        sum += ((bits.lane[i] >> (4 * j + byte)) & 1u) << (8 * byte + 4);
      }
      return sum;
    });
  }

  // A sum of products of unsigned codes and signed quants. With kExactDot it is 32 bits wide from
  // the start and a correction can be its first value; else it is 16 bits wide until DotEnd.
  static constexpr bool kExactDot = true;
  // Without kExactDot: AbsBytes, CopySigns and SignedDot exist, for products of signed bytes.
  static constexpr bool kSignedBytes = false;
  using Dot = I32;
  static Dot DotBegin(I32 correction) { return correction; }
  static Dot DotStep(Dot sum, I32 codes, I32 quants) {
    return Map([&](int i) {
      int32_t total = static_cast<int32_t>(sum.lane[i]);
      for (int byte = 0; byte < 4; ++byte) {
        total += static_cast<int32_t>((codes.lane[i] >> (8 * byte)) & 0xff) *
                 static_cast<int8_t>(quants.lane[i] >> (8 * byte));
      }
      return static_cast<uint32_t>(total);
    });
  }
  static I32 DotEnd(Dot sum, I32 /*correction*/) { return sum; }
  // DotEndScaled(total, sum, DotScale(s)) = total + s * sum.
  static I32 DotScale(I32 scale) { return scale; }
  static I32 DotEndScaled(I32 total, Dot sum, I32 scale) {
    return Map([&](int i) { return total.lane[i] + scale.lane[i] * sum.lane[i]; });
  }
  // sum + the products of the two signed 16-bit halves of a and b.
  static I32 PairDot(I32 sum, I32 a, I32 b) {
    return Map([&](int i) {
      const int32_t low = static_cast<int16_t>(a.lane[i]) * static_cast<int16_t>(b.lane[i]);
      const int32_t high =
          static_cast<int16_t>(a.lane[i] >> 16) * static_cast<int16_t>(b.lane[i] >> 16);
      return sum.lane[i] + static_cast<uint32_t>(low + high);
    });
  }

  static F32 ZeroF32() { return {}; }
  static F32 ToFloat(I32 a) {
    return MapF32([&](int i) { return static_cast<float>(static_cast<int32_t>(a.lane[i])); });
  }
  // The float that has these bits.
  static F32 AsFloat(I32 bits) {
    return MapF32([&](int i) { return std::bit_cast<float>(bits.lane[i]); });
  }
  static F32 HalfToFloat(I32 halves) {
    return MapF32(
        [&](int i) { return kernels::HalfToFloat(static_cast<uint16_t>(halves.lane[i])); });
  }
  static F32 SpreadFloat(const uint8_t* p) {
    float value;
    std::memcpy(&value, p, sizeof(value));
    return MapF32([&](int) { return value; });
  }
  static F32 Mul(F32 a, F32 b) {
    return MapF32([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F32 Fma(F32 a, F32 b, F32 c) {
    return MapF32([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
  }
  static F32 FmaNegated(F32 a, F32 b, F32 c) {
    return MapF32([&](int i) { return std::fma(-a.lane[i], b.lane[i], c.lane[i]); });
  }
  // The first `count` lanes.
  static void Store(float* out, F32 a, int count) {
    std::memcpy(out, a.lane, static_cast<size_t>(count) * sizeof(float));
  }

  // Sixteen values along a row.
  struct Floats {
    float value[16];
  };
  static Floats ZeroFloats() { return {}; }
  static Floats LoadFloats(const uint8_t* p) {
    Floats out;
    std::memcpy(out.value, p, sizeof(out.value));
    return out;
  }
  static Floats LoadHalves(const uint8_t* p) {
    uint16_t halves[16];
    std::memcpy(halves, p, sizeof(halves));
    Floats out;
    for (int i = 0; i < 16; ++i) out.value[i] = kernels::HalfToFloat(halves[i]);
    return out;
  }
  static Floats FmaFloats(const Floats& a, const Floats& b, Floats c) {
    for (int i = 0; i < 16; ++i) c.value[i] = std::fma(a.value[i], b.value[i], c.value[i]);
    return c;
  }
  // value[i] += value[i + 8] for i < 8, then i + 4, i + 2, i + 1.
  static float Sum(Floats a) {
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) a.value[i] += a.value[i + width];
    }
    return a.value[0];
  }

  // Products of BF16 values, two a lane. With kPairProducts: Pairs, LoadPairs and
  // DotPairs(sums, w, x) instead of OddOfPairs, EvenOfPairs and FmaPairs.
  static constexpr bool kPairProducts = false;
  static constexpr int kPairRows = 1;
  static constexpr int kPairColumns = 4;
  static constexpr size_t kPairBytes = 64;
  using PairSums = Floats;
  // While one exists, numbers below 2^-126 count as zero; here each operation sees to that.
  struct FlushDenormals {
    FlushDenormals() {}
  };
  static PairSums ZeroPairSums() { return {}; }
  // The second values of the pairs at p; the first ones.
  static PairSums OddOfPairs(const uint8_t* p) { return EveryOther(p + 2); }
  static PairSums EvenOfPairs(const uint8_t* p) { return EveryOther(p); }
  static PairSums EveryOther(const uint8_t* p) {
    PairSums out;
    for (int i = 0; i < 16; ++i) {
      uint16_t value;
      std::memcpy(&value, p + 4 * i, sizeof(value));
      out.value[i] = FlushToZero(kernels::BFloat16ToFloat(value));
    }
    return out;
  }
  static PairSums FmaPairs(const PairSums& a, const PairSums& b, PairSums c) {
    for (int i = 0; i < 16; ++i) c.value[i] = FlushedFma(a.value[i], b.value[i], c.value[i]);
    return c;
  }
  // The parts of sixteen sums, added up in the order of Sum.
  static float SumPairs(const PairSums* parts) {
    PairSums a = parts[0];
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) a.value[i] = FlushedAdd(a.value[i], a.value[i + width]);
    }
    return a.value[0];
  }

  struct Ints {
    int32_t value[16];
  };
  static Ints MagnitudeBits(const Floats& a) {
    Ints out;
    std::memcpy(out.value, a.value, sizeof(out.value));
    for (int32_t& value : out.value) value &= 0x7fffffff;
    return out;
  }
  static Ints MaxInts(Ints a, const Ints& b) {
    for (int i = 0; i < 16; ++i) a.value[i] = a.value[i] > b.value[i] ? a.value[i] : b.value[i];
    return a;
  }
  static int32_t LargestInt(const Ints& a) {
    int32_t largest = a.value[0];
    for (int32_t value : a.value) largest = value > largest ? value : largest;
    return largest;
  }
  // a * factor, rounded to the nearest integer, ties to even.
  static Ints RoundScaled(const Floats& a, float factor) {
    Ints out;
    for (int i = 0; i < 16; ++i) {
      out.value[i] = static_cast<int32_t>(std::nearbyint(a.value[i] * factor));
    }
    return out;
  }
  static void StoreBytes(uint8_t* out, const Ints& a) {
    for (int i = 0; i < 16; ++i) out[i] = static_cast<uint8_t>(a.value[i]);
  }
  static int32_t SumInts(const Ints& a) {
    int32_t sum = 0;
    for (int32_t value : a.value) sum += value;
    return sum;
  }
};

}  // namespace minfer::kernels::generic
