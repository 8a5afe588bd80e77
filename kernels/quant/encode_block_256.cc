// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/encode_block.h"
#include "kernels/quant/scale_search.h"

namespace minfer::kernels {
namespace {

// What the sub-blocks of a super-block with scales and mins are stored with, and their codes.
struct SubBlocks {
  uint16_t scale;
  uint16_t min;
  uint8_t scale_codes[16];
  uint8_t min_codes[16];
  uint8_t codes[kSuperBlock];
};

// Sub-blocks of N values: x ~ scale * scale_code * code - min * min_code, the codes up to `high`,
// those of scales and mins up to `last`.
template <int N>
void EncodeSubBlocks(const float* x, int high, int last, SubBlocks* out) {
  constexpr int kCount = kSuperBlock / N;
  float scales[kCount];
  float mins[kCount];  // how far a sub-block reaches below zero
  for (int j = 0; j < kCount; ++j) {
    const Affine fit = SearchAffine<N>(x + N * j, high, /*below_zero=*/true);
    scales[j] = std::max(fit.scale, 0.0f);
    mins[j] = -fit.min;
  }
  const auto steps = static_cast<float>(last);
  out->scale = ScaleToHalf(*std::max_element(scales, scales + kCount) / steps);
  out->min = ScaleToHalf(*std::max_element(mins, mins + kCount) / steps);
  const float scale = HalfToFloat(out->scale);
  const float min = HalfToFloat(out->min);
  for (int j = 0; j < kCount; ++j) {
    const int scale_code = NearestCode(scales[j] * Inverse(scale), 0, last);
    const int min_code = NearestCode(mins[j] * Inverse(min), 0, last);
    out->scale_codes[j] = static_cast<uint8_t>(scale_code);
    out->min_codes[j] = static_cast<uint8_t>(min_code);
    const float inverse = Inverse(scale * static_cast<float>(scale_code));
    const float offset = min * static_cast<float>(min_code);
    for (int i = N * j; i < N * (j + 1); ++i) {
      out->codes[i] = static_cast<uint8_t>(NearestCode((x[i] + offset) * inverse, 0, high));
    }
  }
}

// Sub-blocks of 16 values without mins: x ~ scale * scale_code * code, codes from -half to
// half - 1 and scale codes from -scale_half to scale_half - 1. Returns the stored scale.
uint16_t EncodeSymmetric(const float* x, int half, int scale_half, int* scale_codes, int* codes) {
  float scales[16];
  for (int j = 0; j < 16; ++j) scales[j] = SearchScale<16>(x + 16 * j, half);
  const uint16_t stored = ScaleToHalf(Extreme<16>(scales) / static_cast<float>(-scale_half));
  const float scale = HalfToFloat(stored);
  for (int j = 0; j < 16; ++j) {
    scale_codes[j] = NearestCode(scales[j] * Inverse(scale), -scale_half, scale_half - 1);
    const float inverse = Inverse(scale * static_cast<float>(scale_codes[j]));
    for (int i = 16 * j; i < 16 * (j + 1); ++i) {
      codes[i] = NearestCode(x[i] * inverse, -half, half - 1);
    }
  }
  return stored;
}

// Stores scale and min (6 bits each) of sub-block j of Q4_K and Q5_K.
void PackScaleMin(int j, int scale, int min, uint8_t* scales) {
  if (j < 4) {
    scales[j] = static_cast<uint8_t>((scales[j] & 0xc0) | scale);
    scales[j + 4] = static_cast<uint8_t>((scales[j + 4] & 0xc0) | min);
    return;
  }
  scales[j + 4] = static_cast<uint8_t>((scale & 15) | (min & 15) << 4);
  scales[j - 4] = static_cast<uint8_t>((scales[j - 4] & 63) | (scale >> 4) << 6);
  scales[j] = static_cast<uint8_t>((scales[j] & 63) | (min >> 4) << 6);
}

template <typename Block>
void PackScaleMins(const SubBlocks& sub, Block& block) {
  block.scale = sub.scale;
  block.min = sub.min;
  for (int j = 0; j < 8; ++j) PackScaleMin(j, sub.scale_codes[j], sub.min_codes[j], block.scales);
}

// Four codes of two bits a byte: element i of each half goes to byte i % 32 of it.
void PackTwoBits(const uint8_t* codes, uint8_t* quants) {
  for (int i = 0; i < kSuperBlock; ++i) {
    quants[32 * (i / 128) + i % 32] |= static_cast<uint8_t>((codes[i] & 3) << (2 * (i % 128 / 32)));
  }
}

// Two codes of four bits a byte: sub-blocks of 32 in pairs.
void PackFourBits(const uint8_t* codes, uint8_t* quants) {
  for (int i = 0; i < kSuperBlock; ++i) {
    quants[32 * (i / 64) + i % 32] |= static_cast<uint8_t>((codes[i] & 15) << (4 * (i % 64 / 32)));
  }
}

}  // namespace

void EncodeBlock(const float* x, BlockQ2_K& block) {
  SubBlocks sub;
  EncodeSubBlocks<16>(x, 3, 15, &sub);
  block = {};
  block.scale = sub.scale;
  block.min = sub.min;
  for (int j = 0; j < 16; ++j) {
    block.scales[j] = static_cast<uint8_t>(sub.scale_codes[j] | sub.min_codes[j] << 4);
  }
  PackTwoBits(sub.codes, block.quants);
}

void EncodeBlock(const float* x, BlockQ3_K& block) {
  int scale_codes[16];
  int codes[kSuperBlock];
  block = {};
  block.scale = EncodeSymmetric(x, 4, 32, scale_codes, codes);
  for (int j = 0; j < 16; ++j) {
    const int code = scale_codes[j] + 32;
    block.scales[j % 8] |= static_cast<uint8_t>((code & 15) << (4 * (j / 8)));
    block.scales[8 + j % 4] |= static_cast<uint8_t>((code >> 4) << (2 * (j / 4)));
  }
  uint8_t low[kSuperBlock];
  for (int i = 0; i < kSuperBlock; ++i) {
    const int code = codes[i] + 4;
    low[i] = static_cast<uint8_t>(code & 3);
    block.high[i % 32] |= static_cast<uint8_t>((code >> 2) << (i / 32));
  }
  PackTwoBits(low, block.quants);
}

void EncodeBlock(const float* x, BlockQ4_K& block) {
  SubBlocks sub;
  EncodeSubBlocks<32>(x, 15, 63, &sub);
  block = {};
  PackScaleMins(sub, block);
  PackFourBits(sub.codes, block.quants);
}

void EncodeBlock(const float* x, BlockQ5_K& block) {
  SubBlocks sub;
  EncodeSubBlocks<32>(x, 31, 63, &sub);
  block = {};
  PackScaleMins(sub, block);
  PackFourBits(sub.codes, block.quants);
  for (int i = 0; i < kSuperBlock; ++i) {
    block.high[i % 32] |= static_cast<uint8_t>((sub.codes[i] >> 4) << (i / 32));
  }
}

void EncodeBlock(const float* x, BlockQ6_K& block) {
  int scale_codes[16];
  int codes[kSuperBlock];
  block = {};
  block.scale = EncodeSymmetric(x, 32, 128, scale_codes, codes);
  for (int j = 0; j < 16; ++j) block.scales[j] = static_cast<int8_t>(scale_codes[j]);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int code = codes[i] + 32;
    const int half = i / 128;
    const int group = i % 128 / 32;
    block.low[64 * half + 32 * (group % 2) + i % 32] |=
        static_cast<uint8_t>((code & 15) << (4 * (group / 2)));
    block.high[32 * half + i % 32] |= static_cast<uint8_t>((code >> 4) << (2 * group));
  }
}

void EncodeBlock(const float* x, BlockIQ4_XS& block) {
  float scales[8];
  for (int j = 0; j < 8; ++j) scales[j] = SearchIq4Scale(x + 32 * j);
  block = {};
  block.scale = ScaleToHalf(Extreme<8>(scales) / -32.0f);
  const float scale = HalfToFloat(block.scale);
  for (int j = 0; j < 8; ++j) {
    const int scale_code = NearestCode(scales[j] * Inverse(scale), -32, 31);
    block.scales_low[j / 2] |= static_cast<uint8_t>(((scale_code + 32) & 15) << (4 * (j % 2)));
    block.scales_high |= static_cast<uint16_t>(((scale_code + 32) >> 4) << (2 * j));
    const float inverse = Inverse(scale * static_cast<float>(scale_code));
    const float* values = x + 32 * j;
    for (int i = 0; i < 16; ++i) {
      block.quants[16 * j + i] = static_cast<uint8_t>(
          NearestIq4Code(values[i] * inverse) | NearestIq4Code(values[16 + i] * inverse) << 4);
    }
  }
}

}  // namespace minfer::kernels
