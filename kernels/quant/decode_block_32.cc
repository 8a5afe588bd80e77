// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cstring>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {

const int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

namespace {

// Twice the E2M1 values.
constexpr int8_t kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

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

void DecodeBlock(const BlockMXFP4& block, float* out) {
  const uint32_t e = block.exponent;
  const uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
  const auto scale = std::bit_cast<float>(bits);  // half of 2^(e - 127)
  ForNibbles(block.quants,
             [=](int i, int code) { out[i] = scale * static_cast<float>(kE2M1Doubled[code]); });
}

}  // namespace minfer::kernels
