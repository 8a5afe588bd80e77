// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/row_layout.h"

#include <cstring>

#include "kernels/cuda/common/for_type.h"

namespace minfer::kernels::cuda {
namespace {

// Parts of a stored block of 32 values, in the order of the file.
struct Block32 {
  int32_t scale = 0;  // bytes of scale, or scale and min, at the start
  int32_t high = 0;   // bytes of high bits
  int32_t quants = 0;
};

bool FindBlock32(ElementType type, Block32* parts) {
  switch (type) {
    case ElementType::kQ4_0:
    case ElementType::kIQ4_NL:
      *parts = {2, 0, 16};
      return true;
    case ElementType::kQ4_1:
      *parts = {4, 0, 16};
      return true;
    case ElementType::kQ5_0:
      *parts = {2, 4, 16};
      return true;
    case ElementType::kQ5_1:
      *parts = {4, 4, 16};
      return true;
    case ElementType::kQ8_0:
      *parts = {2, 0, 32};
      return true;
    case ElementType::kMXFP4:
      *parts = {1, 0, 16};
      return true;
    default:
      return false;
  }
}

// Bytes of a block on the device where it stays whole.
int64_t PaddedBlockBytes(ElementType type, int64_t stored) {
  if (type == ElementType::kQ6_K) return 224;
  if (type == ElementType::kQ3_K) return 112;
  return stored;
}

int64_t Align16(int64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

bool ReadsType(ElementType type) {
  return ForType(type, [](auto) { return KernelStatus::kOk; }) == KernelStatus::kOk;
}

int64_t WeightRowBytes(ElementType type, int64_t k) {
  if (!ReadsType(type)) return 0;
  const ElementTraits& traits = *FindElementTraits(type);
  if (k < 0 || k % traits.block_elements != 0) return 0;
  return Align16(k / traits.block_elements * PaddedBlockBytes(type, traits.block_bytes));
}

KernelStatus PackWeightRow(ElementType type, int64_t k, const uint8_t* from, uint8_t* to) {
  if (!ReadsType(type)) return KernelStatus::kUnsupportedType;
  const ElementTraits& traits = *FindElementTraits(type);
  if (k < 0 || k % traits.block_elements != 0) return KernelStatus::kBadShape;
  const int64_t blocks = k / traits.block_elements;
  const int64_t row_bytes = WeightRowBytes(type, k);
  Block32 parts;
  if (FindBlock32(type, &parts)) {
    uint8_t* high = to + blocks * parts.quants;
    uint8_t* scales = high + blocks * parts.high;
    for (int64_t b = 0; b < blocks; ++b, from += traits.block_bytes) {
      std::memcpy(scales + b * parts.scale, from, static_cast<size_t>(parts.scale));
      std::memcpy(high + b * parts.high, from + parts.scale, static_cast<size_t>(parts.high));
      std::memcpy(to + b * parts.quants, from + parts.scale + parts.high,
                  static_cast<size_t>(parts.quants));
    }
    const int64_t used = blocks * traits.block_bytes;
    std::memset(to + used, 0, static_cast<size_t>(row_bytes - used));
    return KernelStatus::kOk;
  }
  const int64_t padded = PaddedBlockBytes(type, traits.block_bytes);
  for (int64_t b = 0; b < blocks; ++b) {
    std::memcpy(to + b * padded, from + b * traits.block_bytes,
                static_cast<size_t>(traits.block_bytes));
    std::memset(to + b * padded + traits.block_bytes, 0,
                static_cast<size_t>(padded - traits.block_bytes));
  }
  std::memset(to + blocks * padded, 0, static_cast<size_t>(row_bytes - blocks * padded));
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::cuda
