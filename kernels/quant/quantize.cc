// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/quant/blocks.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

float Inverse(float scale) { return scale != 0.0f ? 1.0f / scale : 0.0f; }

// The code nearest to value, in [low, high].
int Code(float value, int low, int high) {
  return static_cast<int>(
      std::clamp(std::nearbyint(value), static_cast<float>(low), static_cast<float>(high)));
}

// The value of the largest magnitude, with its sign.
float Extreme(const float* x, int count) {
  float extreme = 0.0f;
  for (int i = 0; i < count; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

void PackNibbles(const uint8_t* codes, uint8_t* quants) {
  for (int i = 0; i < 16; ++i) {
    quants[i] = static_cast<uint8_t>(codes[i] | codes[16 + i] << 4);
  }
}

void EncodeBlock(const float* x, BlockQ8_0& block) {
  block.scale = FloatToHalf(std::fabs(Extreme(x, kBlock)) / 127.0f);
  const float inverse = Inverse(HalfToFloat(block.scale));
  for (int i = 0; i < kBlock; ++i) {
    block.quants[i] = static_cast<int8_t>(Code(x[i] * inverse, -127, 127));
  }
}

void EncodeBlock(const float* x, BlockQ4_0& block) {
  block.scale = FloatToHalf(Extreme(x, kBlock) / -8.0f);
  const float inverse = Inverse(HalfToFloat(block.scale));
  uint8_t codes[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    codes[i] = static_cast<uint8_t>(Code(x[i] * inverse, -8, 7) + 8);
  }
  PackNibbles(codes, block.quants);
}

void EncodeBlock(const float* x, BlockQ4_1& block) {
  const auto [low, high] = std::minmax_element(x, x + kBlock);
  block.scale = FloatToHalf((*high - *low) / 15.0f);
  block.min = FloatToHalf(*low);
  const float inverse = Inverse(HalfToFloat(block.scale));
  const float min = HalfToFloat(block.min);
  uint8_t codes[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    codes[i] = static_cast<uint8_t>(Code((x[i] - min) * inverse, 0, 15));
  }
  PackNibbles(codes, block.quants);
}

// Stores scale and min (6 bits each) of sub-block j.
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

void EncodeBlock(const float* x, BlockQ4_K& block) {
  float scales[8];
  float mins[8];  // how far a sub-block reaches below zero
  for (int j = 0; j < 8; ++j) {
    const auto [low, high] = std::minmax_element(x + 32 * j, x + 32 * j + 32);
    mins[j] = std::max(0.0f, -*low);
    scales[j] = (std::max(*high, 0.0f) + mins[j]) / 15.0f;
  }
  block = {};
  block.scale = FloatToHalf(*std::max_element(scales, scales + 8) / 63.0f);
  block.min = FloatToHalf(*std::max_element(mins, mins + 8) / 63.0f);
  const float scale = HalfToFloat(block.scale);
  const float min = HalfToFloat(block.min);
  for (int j = 0; j < 8; ++j) {
    const int scale_code = Code(scales[j] * Inverse(scale), 0, 63);
    const int min_code = Code(mins[j] * Inverse(min), 0, 63);
    PackScaleMin(j, scale_code, min_code, block.scales);
    const float inverse = Inverse(scale * static_cast<float>(scale_code));
    const float offset = min * static_cast<float>(min_code);
    for (int i = 0; i < 32; ++i) {
      const int code = Code((x[32 * j + i] + offset) * inverse, 0, 15);
      block.quants[32 * (j / 2) + i] |= static_cast<uint8_t>(j % 2 == 0 ? code : code << 4);
    }
  }
}

void EncodeBlock(const float* x, BlockQ6_K& block) {
  float scales[16];
  for (int j = 0; j < 16; ++j) scales[j] = Extreme(x + 16 * j, 16) / -32.0f;
  block = {};
  block.scale = FloatToHalf(std::fabs(Extreme(scales, 16)) / 127.0f);
  const float scale = HalfToFloat(block.scale);
  for (int i = 0; i < kSuperBlock; ++i) {
    if (i % 16 == 0) {
      block.scales[i / 16] = static_cast<int8_t>(Code(scales[i / 16] * Inverse(scale), -127, 127));
    }
    const float factor = scale * static_cast<float>(block.scales[i / 16]);
    const int code = Code(x[i] * Inverse(factor), -32, 31) + 32;
    const int half = i / 128;
    const int group = (i % 128) / 32;
    block.low[64 * half + 32 * (group % 2) + i % 32] |=
        static_cast<uint8_t>((code & 15) << (group < 2 ? 0 : 4));
    block.high[32 * half + i % 32] |= static_cast<uint8_t>((code >> 4) << (2 * group));
  }
}

template <typename Block>
void EncodeBlocks(const float* x, uint8_t* bytes, int64_t count, int block_elements) {
  for (int64_t i = 0; i < count; i += block_elements, bytes += sizeof(Block)) {
    Block block;
    EncodeBlock(x + i, block);
    std::memcpy(bytes, &block, sizeof(block));
  }
}

template <typename Convert>
void EncodeHalves(const float* x, uint8_t* bytes, int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t value = convert(x[i]);
    std::memcpy(bytes + 2 * i, &value, sizeof(value));
  }
}

// False when the type has no encoder; count 0 asks just that.
bool Encode(ElementType type, const float* x, uint8_t* bytes, int64_t count) {
  switch (type) {
    case ElementType::kF32:
      if (count > 0) std::memcpy(bytes, x, static_cast<size_t>(count) * sizeof(float));
      return true;
    case ElementType::kF16:
      EncodeHalves(x, bytes, count, FloatToHalf);
      return true;
    case ElementType::kBF16:
      EncodeHalves(x, bytes, count, FloatToBFloat16);
      return true;
    case ElementType::kQ4_0:
      EncodeBlocks<BlockQ4_0>(x, bytes, count, kBlock);
      return true;
    case ElementType::kQ4_1:
      EncodeBlocks<BlockQ4_1>(x, bytes, count, kBlock);
      return true;
    case ElementType::kQ8_0:
      EncodeBlocks<BlockQ8_0>(x, bytes, count, kBlock);
      return true;
    case ElementType::kQ4_K:
      EncodeBlocks<BlockQ4_K>(x, bytes, count, kSuperBlock);
      return true;
    case ElementType::kQ6_K:
      EncodeBlocks<BlockQ6_K>(x, bytes, count, kSuperBlock);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool CanQuantize(ElementType type) { return Encode(type, nullptr, nullptr, 0); }

KernelStatus QuantizeRow(ElementType type, const float* x, void* blocks, int64_t count) {
  if (!CanQuantize(type)) return KernelStatus::kUnsupportedType;
  if (count < 0 || count % FindElementTraits(type)->block_elements != 0) {
    return KernelStatus::kBadShape;
  }
  Encode(type, x, static_cast<uint8_t*>(blocks), count);
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
