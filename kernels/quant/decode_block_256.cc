// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {

int UnpackQ3Scale(const uint8_t* scales, int j) {
  const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
  const int high = (scales[8 + j % 4] >> (2 * (j / 4))) & 3;
  return (low | high << 4) - 32;
}

ScaleMin UnpackScaleMin(const uint8_t* scales, int j) {
  if (j < 4) {
    return {static_cast<uint8_t>(scales[j] & 63), static_cast<uint8_t>(scales[j + 4] & 63)};
  }
  return {static_cast<uint8_t>((scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4),
          static_cast<uint8_t>((scales[j + 4] >> 4) | (scales[j] >> 6) << 4)};
}

void DecodeBlock(const BlockQ2_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int j = 0; j < 16; ++j) {  // sub-blocks of 16
    const uint8_t s = block.scales[j];
    const float factor = scale * static_cast<float>(s & 15);
    const float offset = min * static_cast<float>(s >> 4);
    const uint8_t* quants = block.quants + 32 * (j / 8) + 16 * (j % 2);
    const int shift = 2 * (j / 2 % 4);
    float* values = out + 16 * j;
    for (int i = 0; i < 16; ++i) {
      values[i] = factor * static_cast<float>((quants[i] >> shift) & 3) - offset;
    }
  }
}

void DecodeBlock(const BlockQ3_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int j = 0; j < 16; ++j) {  // sub-blocks of 16
    const float factor = scale * static_cast<float>(UnpackQ3Scale(block.scales, j));
    const uint8_t* quants = block.quants + 32 * (j / 8) + 16 * (j % 2);
    const uint8_t* high = block.high + 16 * (j % 2);
    const int shift = 2 * (j / 2 % 4);
    const int high_shift = j / 2;
    float* values = out + 16 * j;
    for (int i = 0; i < 16; ++i) {
      const int code = ((quants[i] >> shift) & 3) | ((high[i] >> high_shift) & 1) << 2;
      values[i] = factor * static_cast<float>(code - 4);
    }
  }
}

void DecodeBlock(const BlockQ4_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int j = 0; j < 8; ++j) {  // sub-blocks of 32
    const ScaleMin sub = UnpackScaleMin(block.scales, j);
    const float factor = scale * static_cast<float>(sub.scale);
    const float offset = min * static_cast<float>(sub.min);
    const uint8_t* quants = block.quants + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    float* values = out + 32 * j;
    for (int i = 0; i < 32; ++i) {
      values[i] = factor * static_cast<float>((quants[i] >> shift) & 15) - offset;
    }
  }
}

void DecodeBlock(const BlockQ5_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int j = 0; j < 8; ++j) {  // sub-blocks of 32
    const ScaleMin sub = UnpackScaleMin(block.scales, j);
    const float factor = scale * static_cast<float>(sub.scale);
    const float offset = min * static_cast<float>(sub.min);
    const uint8_t* quants = block.quants + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    float* values = out + 32 * j;
    for (int i = 0; i < 32; ++i) {
      const int code = ((quants[i] >> shift) & 15) | ((block.high[i] >> j) & 1) << 4;
      values[i] = factor * static_cast<float>(code) - offset;
    }
  }
}

void DecodeBlock(const BlockQ6_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int j = 0; j < 16; ++j) {  // sub-blocks of 16
    const float factor = scale * static_cast<float>(block.scales[j]);
    const int half = j / 8;
    const int group = j / 2 % 4;
    const uint8_t* low = block.low + 64 * half + 32 * (group % 2) + 16 * (j % 2);
    const uint8_t* high = block.high + 32 * half + 16 * (j % 2);
    const int shift = 4 * (group / 2);
    const int high_shift = 2 * group;
    float* values = out + 16 * j;
    for (int i = 0; i < 16; ++i) {
      const int code = ((low[i] >> shift) & 15) | ((high[i] >> high_shift) & 3) << 4;
      values[i] = factor * static_cast<float>(code - 32);
    }
  }
}

void DecodeBlock(const BlockIQ4_XS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int j = 0; j < 8; ++j) {
    const int low = (block.scales_low[j / 2] >> (4 * (j % 2))) & 15;
    const int high = (block.scales_high >> (2 * j)) & 3;
    const float factor = scale * static_cast<float>((low | high << 4) - 32);
    const uint8_t* quants = block.quants + 16 * j;
    for (int i = 0; i < 16; ++i) {
      out[32 * j + i] = factor * static_cast<float>(kIq4Values[quants[i] & 15]);
      out[32 * j + 16 + i] = factor * static_cast<float>(kIq4Values[quants[i] >> 4]);
    }
  }
}

namespace {

// Digit n of the ternary numbers (-1, 0, 1) of `count` bytes: a byte is the digits' fraction of
// 256, so that a multiplication brings a digit to the top.
void DecodeDigits(const uint8_t* bytes, int count, int n, float scale, float* out) {
  constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  for (int i = 0; i < count; ++i) {
    const auto rest = static_cast<uint8_t>(bytes[i] * kPowers[n]);
    out[i] = scale * static_cast<float>(((rest * 3) >> 8) - 1);
  }
}

}  // namespace

void DecodeBlock(const BlockTQ1_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int n = 0; n < 5; ++n) DecodeDigits(block.quants, 32, n, scale, out + 32 * n);
  for (int n = 0; n < 5; ++n) DecodeDigits(block.quants + 32, 16, n, scale, out + 160 + 16 * n);
  for (int n = 0; n < 4; ++n) DecodeDigits(block.high, 4, n, scale, out + 240 + 4 * n);
}

void DecodeBlock(const BlockTQ2_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int g = 0; g < 8; ++g) {  // groups of 32
    const uint8_t* quants = block.quants + 32 * (g / 4);
    const int shift = 2 * (g % 4);
    for (int i = 0; i < 32; ++i) {
      out[32 * g + i] = scale * static_cast<float>(((quants[i] >> shift) & 3) - 1);
    }
  }
}

}  // namespace minfer::kernels
