// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/quant/dequantize.h"

#include <cstring>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

template <typename Block>
void DecodeBlocks(const uint8_t* bytes, float* out, int64_t count, int block_elements) {
  for (int64_t i = 0; i < count; i += block_elements, bytes += sizeof(Block)) {
    Block block;
    std::memcpy(&block, bytes, sizeof(block));
    DecodeBlock(block, out + i);
  }
}

template <typename Convert>
void DecodeHalves(const uint8_t* bytes, float* out, int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t value;
    std::memcpy(&value, bytes + 2 * i, sizeof(value));
    out[i] = convert(value);
  }
}

// False when the type has no decoder; count 0 asks just that.
bool Decode(ElementType type, const uint8_t* bytes, float* out, int64_t count) {
  switch (type) {
    case ElementType::kF32:
      if (count > 0) std::memcpy(out, bytes, static_cast<size_t>(count) * sizeof(float));
      return true;
    case ElementType::kF16:
      DecodeHalves(bytes, out, count, HalfToFloat);
      return true;
    case ElementType::kBF16:
      DecodeHalves(bytes, out, count, BFloat16ToFloat);
      return true;
    case ElementType::kQ4_0:
      DecodeBlocks<BlockQ4_0>(bytes, out, count, kBlock);
      return true;
    case ElementType::kQ4_1:
      DecodeBlocks<BlockQ4_1>(bytes, out, count, kBlock);
      return true;
    case ElementType::kQ5_0:
      DecodeBlocks<BlockQ5_0>(bytes, out, count, kBlock);
      return true;
    case ElementType::kQ5_1:
      DecodeBlocks<BlockQ5_1>(bytes, out, count, kBlock);
      return true;
    case ElementType::kQ8_0:
      DecodeBlocks<BlockQ8_0>(bytes, out, count, kBlock);
      return true;
    case ElementType::kIQ4_NL:
      DecodeBlocks<BlockIQ4_NL>(bytes, out, count, kBlock);
      return true;
    case ElementType::kMXFP4:
      DecodeBlocks<BlockMXFP4>(bytes, out, count, kBlock);
      return true;
    case ElementType::kQ2_K:
      DecodeBlocks<BlockQ2_K>(bytes, out, count, kSuperBlock);
      return true;
    case ElementType::kQ3_K:
      DecodeBlocks<BlockQ3_K>(bytes, out, count, kSuperBlock);
      return true;
    case ElementType::kQ4_K:
      DecodeBlocks<BlockQ4_K>(bytes, out, count, kSuperBlock);
      return true;
    case ElementType::kQ5_K:
      DecodeBlocks<BlockQ5_K>(bytes, out, count, kSuperBlock);
      return true;
    case ElementType::kQ6_K:
      DecodeBlocks<BlockQ6_K>(bytes, out, count, kSuperBlock);
      return true;
    case ElementType::kIQ4_XS:
      DecodeBlocks<BlockIQ4_XS>(bytes, out, count, kSuperBlock);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool CanDequantize(ElementType type) { return Decode(type, nullptr, nullptr, 0); }

KernelStatus DequantizeRow(ElementType type, const void* blocks, float* out, int64_t count) {
  if (!CanDequantize(type)) return KernelStatus::kUnsupportedType;
  if (count < 0 || count % FindElementTraits(type)->block_elements != 0) {
    return KernelStatus::kBadShape;
  }
  Decode(type, static_cast<const uint8_t*>(blocks), out, count);
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
