// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cmath>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/encode_block.h"
#include "kernels/quant/scale_search.h"

namespace minfer::kernels {
namespace {

// Codes of 0..15: 0..15 of the elements in the low halves, 16..31 in the high.
void PackNibbles(const uint8_t* codes, uint8_t* quants) {
  for (int i = 0; i < 16; ++i) {
    quants[i] = static_cast<uint8_t>((codes[i] & 15) | codes[16 + i] << 4);
  }
}

// Codes of 0..31: bit 4 of element i becomes bit i of `high`.
void PackFiveBits(const uint8_t* codes, uint8_t* high, uint8_t* quants) {
  PackNibbles(codes, quants);
  for (int i = 0; i < 4; ++i) {
    high[i] = 0;
    for (int k = 0; k < 8; ++k) high[i] |= static_cast<uint8_t>((codes[8 * i + k] >> 4) << k);
  }
}

// Codes of scale * (code - half); returns the stored scale.
uint16_t EncodeSymmetric(const float* x, int half, uint8_t* codes) {
  const uint16_t stored = ScaleToHalf(SearchScale<kBlock>(x, half));
  const float inverse = Inverse(HalfToFloat(stored));
  for (int i = 0; i < kBlock; ++i) {
    codes[i] = static_cast<uint8_t>(NearestCode(x[i] * inverse, -half, half - 1) + half);
  }
  return stored;
}

// Codes of scale * code + min.
template <typename Block>
void EncodeAffine(const float* x, int high, Block& block, uint8_t* codes) {
  const Affine fit = SearchAffine<kBlock>(x, high, /*below_zero=*/false);
  block.scale = ScaleToHalf(fit.scale);
  block.min = ScaleToHalf(fit.min);
  const float inverse = Inverse(HalfToFloat(block.scale));
  const float min = HalfToFloat(block.min);
  for (int i = 0; i < kBlock; ++i) {
    codes[i] = static_cast<uint8_t>(NearestCode((x[i] - min) * inverse, 0, high));
  }
}

float NearestIq4Value(float value) {
  // The middles between neighbours of kIq4Values.
  constexpr float kMiddles[15] = {-115.5f, -93.5f, -74.0f, -57.0f, -42.0f, -28.5f, -16.0f, -4.5f,
                                  7.0f,    19.0f,  31.5f,  45.5f,  61.0f,  79.0f,  101.0f};
  float nearest = kIq4Values[0];
  for (int k = 0; k < 15; ++k) {
    nearest += value > kMiddles[k] ? static_cast<float>(kIq4Values[k + 1] - kIq4Values[k]) : 0.0f;
  }
  return nearest;
}

// The code of MXFP4 whose value, times two as its decoder has it, is nearest.
uint8_t NearestE2M1(float doubled) {
  const float magnitude = std::fabs(doubled);
  int code = 0;
  for (const float middle : {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f}) {
    code += magnitude > middle ? 1 : 0;
  }
  return static_cast<uint8_t>(code == 0 || doubled > 0.0f ? code : code | 8);
}

float SquaredError(const float* x, const BlockMXFP4& block) {
  float decoded[kBlock];
  DecodeBlock(block, decoded);
  return Sum<kBlock>([&](int i) { return (x[i] - decoded[i]) * (x[i] - decoded[i]); });
}

}  // namespace

uint8_t NearestIq4Code(float value) {
  const float nearest = NearestIq4Value(value);
  uint8_t code = 0;
  while (static_cast<float>(kIq4Values[code]) < nearest) ++code;
  return code;
}

float SearchIq4Scale(const float* x) {
  return SearchScale<kBlock>(x, kIq4Values[0], 4.0f, 6, NearestIq4Value);
}

void EncodeBlock(const float* x, BlockQ8_0& block) {
  block.scale = ScaleToHalf(std::fabs(Extreme<kBlock>(x)) / 127.0f);
  const float inverse = Inverse(HalfToFloat(block.scale));
  for (int i = 0; i < kBlock; ++i) {
    block.quants[i] = static_cast<int8_t>(NearestCode(x[i] * inverse, -127, 127));
  }
}

void EncodeBlock(const float* x, BlockQ4_0& block) {
  uint8_t codes[kBlock];
  block.scale = EncodeSymmetric(x, 8, codes);
  PackNibbles(codes, block.quants);
}

void EncodeBlock(const float* x, BlockQ5_0& block) {
  uint8_t codes[kBlock];
  block.scale = EncodeSymmetric(x, 16, codes);
  PackFiveBits(codes, block.high, block.quants);
}

void EncodeBlock(const float* x, BlockQ4_1& block) {
  uint8_t codes[kBlock];
  EncodeAffine(x, 15, block, codes);
  PackNibbles(codes, block.quants);
}

void EncodeBlock(const float* x, BlockQ5_1& block) {
  uint8_t codes[kBlock];
  EncodeAffine(x, 31, block, codes);
  PackFiveBits(codes, block.high, block.quants);
}

void EncodeBlock(const float* x, BlockIQ4_NL& block) {
  block.scale = ScaleToHalf(SearchIq4Scale(x));
  const float inverse = Inverse(HalfToFloat(block.scale));
  uint8_t codes[kBlock];
  for (int i = 0; i < kBlock; ++i) codes[i] = NearestIq4Code(x[i] * inverse);
  PackNibbles(codes, block.quants);
}

// The scale is a power of two: the one at which the extreme's own power of two becomes 4, or the
// next one up, which clips nothing.
void EncodeBlock(const float* x, BlockMXFP4& block) {
  block = {};
  const float extreme = std::fabs(Extreme<kBlock>(x));
  if (!(extreme >= kSmallestExtreme)) return;
  const int first = static_cast<int>(std::bit_cast<uint32_t>(extreme) >> 23) - 2;
  float best_error = std::numeric_limits<float>::infinity();
  for (int exponent = first; exponent <= first + 1; ++exponent) {
    BlockMXFP4 trial = {};
    trial.exponent = static_cast<uint8_t>(exponent);
    const float inverse = std::bit_cast<float>(static_cast<uint32_t>(255 - exponent) << 23);
    uint8_t codes[kBlock];
    for (int i = 0; i < kBlock; ++i) codes[i] = NearestE2M1(x[i] * inverse);
    PackNibbles(codes, trial.quants);
    const float error = SquaredError(x, trial);
    if (exponent == first || error < best_error) {
      best_error = error;
      block = trial;
    }
  }
}

}  // namespace minfer::kernels
