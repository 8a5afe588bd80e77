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

// Code of element i of 16 bytes that hold elements 0..15 in their low halves, 16..31 in the high.
int Nibble(const uint8_t* quants, int i) { return i < 16 ? quants[i] & 15 : quants[i - 16] >> 4; }

int HighBit(const uint8_t* high, int i) { return (high[i / 8] >> (i % 8)) & 1; }

}  // namespace

void DecodeBlock(const BlockQ4_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(Nibble(block.quants, i) - 8);
  }
}

void DecodeBlock(const BlockQ4_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(Nibble(block.quants, i)) + min;
  }
}

void DecodeBlock(const BlockQ5_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kBlock; ++i) {
    const int code = Nibble(block.quants, i) | HighBit(block.high, i) << 4;
    out[i] = scale * static_cast<float>(code - 16);
  }
}

void DecodeBlock(const BlockQ5_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int i = 0; i < kBlock; ++i) {
    const int code = Nibble(block.quants, i) | HighBit(block.high, i) << 4;
    out[i] = scale * static_cast<float>(code) + min;
  }
}

void DecodeBlock(const BlockQ8_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
}

void DecodeBlock(const BlockIQ4_NL& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(kIq4Values[Nibble(block.quants, i)]);
  }
}

void DecodeBlock(const BlockMXFP4& block, float* out) {
  const uint32_t e = block.exponent;
  const uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
  const auto scale = std::bit_cast<float>(bits);  // half of 2^(e - 127)
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(kE2M1Doubled[Nibble(block.quants, i)]);
  }
}

}  // namespace minfer::kernels
