// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/dequantize.h"

#include <cstring>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

template <typename Block, int Values>
void DecodeBlocks(const uint8_t* bytes, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += Values, bytes += sizeof(Block)) {
    Block block;
    std::memcpy(&block, bytes, sizeof(block));
    DecodeBlock(block, out + i);
  }
}

template <float (*Convert)(uint16_t)>
void DecodeHalves(const uint8_t* bytes, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t value;
    std::memcpy(&value, bytes + 2 * i, sizeof(value));
    out[i] = Convert(value);
  }
}

void DecodeFloats(const uint8_t* bytes, float* out, int64_t count) {
  if (count > 0) std::memcpy(out, bytes, static_cast<size_t>(count) * sizeof(float));
}

struct Decoder {
  ElementType type;
  void (*decode)(const uint8_t* bytes, float* out, int64_t count);
};

constexpr Decoder kDecoders[] = {
    {ElementType::kF32, DecodeFloats},
    {ElementType::kF16, DecodeHalves<HalfToFloat>},
    {ElementType::kBF16, DecodeHalves<BFloat16ToFloat>},
    {ElementType::kQ4_0, DecodeBlocks<BlockQ4_0, kBlock>},
    {ElementType::kQ4_1, DecodeBlocks<BlockQ4_1, kBlock>},
    {ElementType::kQ5_0, DecodeBlocks<BlockQ5_0, kBlock>},
    {ElementType::kQ5_1, DecodeBlocks<BlockQ5_1, kBlock>},
    {ElementType::kQ8_0, DecodeBlocks<BlockQ8_0, kBlock>},
    {ElementType::kIQ4_NL, DecodeBlocks<BlockIQ4_NL, kBlock>},
    {ElementType::kMXFP4, DecodeBlocks<BlockMXFP4, kBlock>},
    {ElementType::kNVFP4, DecodeBlocks<BlockNVFP4, 64>},
    {ElementType::kQ2_K, DecodeBlocks<BlockQ2_K, kSuperBlock>},
    {ElementType::kQ3_K, DecodeBlocks<BlockQ3_K, kSuperBlock>},
    {ElementType::kQ4_K, DecodeBlocks<BlockQ4_K, kSuperBlock>},
    {ElementType::kQ5_K, DecodeBlocks<BlockQ5_K, kSuperBlock>},
    {ElementType::kQ6_K, DecodeBlocks<BlockQ6_K, kSuperBlock>},
    {ElementType::kIQ4_XS, DecodeBlocks<BlockIQ4_XS, kSuperBlock>},
    {ElementType::kTQ1_0, DecodeBlocks<BlockTQ1_0, kSuperBlock>},
    {ElementType::kTQ2_0, DecodeBlocks<BlockTQ2_0, kSuperBlock>},
    {ElementType::kIQ1_S, DecodeBlocks<BlockIQ1_S, kSuperBlock>},
    {ElementType::kIQ1_M, DecodeBlocks<BlockIQ1_M, kSuperBlock>},
    {ElementType::kIQ2_XXS, DecodeBlocks<BlockIQ2_XXS, kSuperBlock>},
    {ElementType::kIQ2_XS, DecodeBlocks<BlockIQ2_XS, kSuperBlock>},
    {ElementType::kIQ2_S, DecodeBlocks<BlockIQ2_S, kSuperBlock>},
    {ElementType::kIQ3_XXS, DecodeBlocks<BlockIQ3_XXS, kSuperBlock>},
    {ElementType::kIQ3_S, DecodeBlocks<BlockIQ3_S, kSuperBlock>},
};

const Decoder* FindDecoder(ElementType type) {
  for (const Decoder& decoder : kDecoders) {
    if (decoder.type == type) return &decoder;
  }
  return nullptr;
}

}  // namespace

bool CanDequantize(ElementType type) { return FindDecoder(type) != nullptr; }

KernelStatus DequantizeRow(ElementType type, const void* blocks, float* out, int64_t count) {
  const Decoder* decoder = FindDecoder(type);
  if (decoder == nullptr) return KernelStatus::kUnsupportedType;
  if (count < 0 || count % FindElementTraits(type)->block_elements != 0) {
    return KernelStatus::kBadShape;
  }
  decoder->decode(static_cast<const uint8_t*>(blocks), out, count);
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
