// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/quantize.h"

#include <algorithm>
#include <cstring>

#include "kernels/quant/encode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

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

// A NaN stays one.
float Clip(float value, float largest) { return std::clamp(value, -largest, largest); }

void EncodeFloats(const float* x, uint8_t* bytes, int64_t count) {
  if (count > 0) std::memcpy(bytes, x, static_cast<size_t>(count) * sizeof(float));
}

using Encoder = void (*)(const float* x, uint8_t* bytes, int64_t count);

template <typename Block, int kElements>
void EncodeAs(const float* x, uint8_t* bytes, int64_t count) {
  EncodeBlocks<Block>(x, bytes, count, kElements);
}

// nullptr when the type has no encoder.
Encoder EncoderOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return EncodeFloats;
    case ElementType::kF16:
      return [](const float* x, uint8_t* bytes, int64_t count) {
        EncodeHalves(x, bytes, count, [](float v) { return FloatToHalf(Clip(v, 0x1.ffcp15f)); });
      };
    case ElementType::kBF16:
      return [](const float* x, uint8_t* bytes, int64_t count) {
        EncodeHalves(x, bytes, count,
                     [](float v) { return FloatToBFloat16(Clip(v, 0x1.fep127f)); });
      };
    case ElementType::kQ4_0:
      return EncodeAs<BlockQ4_0, kBlock>;
    case ElementType::kQ4_1:
      return EncodeAs<BlockQ4_1, kBlock>;
    case ElementType::kQ5_0:
      return EncodeAs<BlockQ5_0, kBlock>;
    case ElementType::kQ5_1:
      return EncodeAs<BlockQ5_1, kBlock>;
    case ElementType::kQ8_0:
      return EncodeAs<BlockQ8_0, kBlock>;
    case ElementType::kQ2_K:
      return EncodeAs<BlockQ2_K, kSuperBlock>;
    case ElementType::kQ3_K:
      return EncodeAs<BlockQ3_K, kSuperBlock>;
    case ElementType::kQ4_K:
      return EncodeAs<BlockQ4_K, kSuperBlock>;
    case ElementType::kQ5_K:
      return EncodeAs<BlockQ5_K, kSuperBlock>;
    case ElementType::kQ6_K:
      return EncodeAs<BlockQ6_K, kSuperBlock>;
    case ElementType::kIQ4_NL:
      return EncodeAs<BlockIQ4_NL, kBlock>;
    case ElementType::kIQ4_XS:
      return EncodeAs<BlockIQ4_XS, kSuperBlock>;
    case ElementType::kMXFP4:
      return EncodeAs<BlockMXFP4, kBlock>;
    default:
      return nullptr;
  }
}

}  // namespace

bool CanQuantize(ElementType type) { return EncoderOf(type) != nullptr; }

KernelStatus QuantizeRow(ElementType type, const float* x, void* blocks, int64_t count) {
  const Encoder encoder = EncoderOf(type);
  if (encoder == nullptr) return KernelStatus::kUnsupportedType;
  if (count < 0 || count % FindElementTraits(type)->block_elements != 0) {
    return KernelStatus::kBadShape;
  }
  encoder(x, static_cast<uint8_t*>(blocks), count);
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
