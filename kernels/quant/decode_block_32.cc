// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cstring>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {

const int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

const int8_t kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

namespace {

// Calls fn(i, code) for the 32 codes of 16 bytes, elements 0..15 in the low halves and 16..31 in
// the high. Plain loops over neighbours, which compilers turn into vector code.
template <typename Fn>
void ForNibbles(const uint8_t* quants, Fn fn) {
  for (int i = 0; i < 16; ++i) fn(i, quants[i] & 15);
  for (int i = 0; i < 16; ++i) fn(16 + i, quants[i] >> 4);
}

// The same with bit i of `high` above code i.
template <typename Fn>
void ForFiveBits(const uint8_t* quants, const uint8_t* high, Fn fn) {
  uint32_t bits;
  std::memcpy(&bits, high, sizeof(bits));
  for (int i = 0; i < 16; ++i) {
    fn(i, static_cast<int>((quants[i] & 15u) | ((bits >> i) & 1u) << 4));
  }
  for (int i = 0; i < 16; ++i) {
    fn(16 + i, static_cast<int>((quants[i] >> 4) | ((bits >> (16 + i)) & 1u) << 4));
  }
}

// Half of the E4M3 number, whose sign bit says nothing and whose NaN is a zero.
float HalvedE4M3(uint8_t code) {
  if (code == 0x7f) return 0.0f;
  const int exponent = (code >> 3) & 15;
  const auto mantissa = static_cast<float>(code & 7);
  if (exponent == 0) return mantissa * 0x1p-10f;
  return (8.0f + mantissa) * std::bit_cast<float>(static_cast<uint32_t>(exponent + 116) << 23);
}

}  // namespace

void DecodeBlock(const BlockQ4_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  ForNibbles(block.quants, [=](int i, int code) { out[i] = scale * static_cast<float>(code - 8); });
}

void DecodeBlock(const BlockQ4_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  ForNibbles(block.quants,
             [=](int i, int code) { out[i] = scale * static_cast<float>(code) + min; });
}

void DecodeBlock(const BlockQ5_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  ForFiveBits(block.quants, block.high,
              [=](int i, int code) { out[i] = scale * static_cast<float>(code - 16); });
}

void DecodeBlock(const BlockQ5_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  ForFiveBits(block.quants, block.high,
              [=](int i, int code) { out[i] = scale * static_cast<float>(code) + min; });
}

void DecodeBlock(const BlockQ8_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
}

void DecodeBlock(const BlockIQ4_NL& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  ForNibbles(block.quants,
             [=](int i, int code) { out[i] = scale * static_cast<float>(kIq4Values[code]); });
}

float MxScale(uint8_t exponent) {
  const uint32_t e = exponent;
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

void DecodeBlock(const BlockMXFP4& block, float* out) {
  const float scale = MxScale(block.exponent);
  ForNibbles(block.quants,
             [=](int i, int code) { out[i] = scale * static_cast<float>(kE2M1Doubled[code]); });
}

void DecodeBlock(const BlockNVFP4& block, float* out) {
  for (int j = 0; j < 4; ++j) {
    const float scale = HalvedE4M3(block.scales[j]);
    for (int i = 0; i < 8; ++i) {
      const uint8_t byte = block.quants[8 * j + i];
      out[16 * j + i] = scale * static_cast<float>(kE2M1Doubled[byte & 15]);
      out[16 * j + 8 + i] = scale * static_cast<float>(kE2M1Doubled[byte >> 4]);
    }
  }
}

}  // namespace minfer::kernels
