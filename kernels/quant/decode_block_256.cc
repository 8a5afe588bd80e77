// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

// Two bits of element i in the layout that Q2_K and Q3_K share.
int TwoBits(const uint8_t* quants, int i) {
  const int group = i / 32;
  return (quants[32 * (group / 4) + i % 32] >> (2 * (group % 4))) & 3;
}

int Q3Scale(const uint8_t* scales, int j) {
  const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
  const int high = (scales[8 + j % 4] >> (2 * (j / 4))) & 3;
  return (low | high << 4) - 32;
}

// Four bits of element i in the layout that Q4_K and Q5_K share.
int FourBits(const uint8_t* quants, int i) {
  const uint8_t byte = quants[32 * (i / 64) + i % 32];
  return (i / 32) % 2 == 0 ? byte & 15 : byte >> 4;
}

int SixBits(const BlockQ6_K& block, int i) {
  const int half = i / 128;
  const int group = (i % 128) / 32;
  const uint8_t byte = block.low[64 * half + 32 * (group % 2) + i % 32];
  const int low = group < 2 ? byte & 15 : byte >> 4;
  const int high = (block.high[32 * half + i % 32] >> (2 * group)) & 3;
  return low | high << 4;
}

}  // namespace

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
  for (int i = 0; i < kSuperBlock; ++i) {
    const uint8_t s = block.scales[i / 16];
    const float factor = scale * static_cast<float>(s & 15);
    const float offset = min * static_cast<float>(s >> 4);
    out[i] = factor * static_cast<float>(TwoBits(block.quants, i)) - offset;
  }
}

void DecodeBlock(const BlockQ3_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int high = (block.high[i % 32] >> (i / 32)) & 1;
    const int value = TwoBits(block.quants, i) - (high != 0 ? 0 : 4);
    const float factor = scale * static_cast<float>(Q3Scale(block.scales, i / 16));
    out[i] = factor * static_cast<float>(value);
  }
}

void DecodeBlock(const BlockQ4_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int i = 0; i < kSuperBlock; ++i) {
    const ScaleMin sub = UnpackScaleMin(block.scales, i / 32);
    const float factor = scale * static_cast<float>(sub.scale);
    const float offset = min * static_cast<float>(sub.min);
    out[i] = factor * static_cast<float>(FourBits(block.quants, i)) - offset;
  }
}

void DecodeBlock(const BlockQ5_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int i = 0; i < kSuperBlock; ++i) {
    const ScaleMin sub = UnpackScaleMin(block.scales, i / 32);
    const float factor = scale * static_cast<float>(sub.scale);
    const float offset = min * static_cast<float>(sub.min);
    const int high = (block.high[i % 32] >> (i / 32)) & 1;
    out[i] = factor * static_cast<float>(FourBits(block.quants, i) | high << 4) - offset;
  }
}

void DecodeBlock(const BlockQ6_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kSuperBlock; ++i) {
    const float factor = scale * static_cast<float>(block.scales[i / 16]);
    out[i] = factor * static_cast<float>(SixBits(block, i) - 32);
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

}  // namespace minfer::kernels
