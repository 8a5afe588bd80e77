// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMVQ for blocks of 32 weights: a unit is a block.
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

// Codes of a block of four-bit quants: the low halves, then the high.
__device__ __forceinline__ void LoadNibbles(const uint8_t* row, int u, uint32_t* codes) {
  uint32_t bytes[4];
  StoreInt4(Int4At(row + 16 * static_cast<int64_t>(u)), bytes);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    codes[i] = bytes[i] & 0x0f0f0f0fu;
    codes[4 + i] = (bytes[i] >> 4) & 0x0f0f0f0fu;
  }
}

// Adds bit 4 of each code from the block's 32 high bits.
__device__ __forceinline__ void AddHighBits(const uint8_t* row, int64_t k, int u, uint32_t* codes) {
  const uint32_t bits =
      *reinterpret_cast<const uint32_t*>(row + k / 2 + 4 * static_cast<int64_t>(u));
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    // Bit j of four goes to byte j.
    codes[i] |= ((((bits >> (4 * i)) & 15u) * 0x00204081u) & 0x01010101u) << 4;
  }
}

__device__ __forceinline__ int Dot32(const uint32_t* codes, const int8_t* quants, int u) {
  const int8_t* a = quants + 32 * static_cast<int64_t>(u);
  return Dot16(codes, Int4At(a)) + Dot16(codes + 4, Int4At(a + 16));
}

// scale * (code - offset)
struct OffsetBlock {
  uint32_t codes[8];
  float scale;

  __device__ float Product(const int8_t* quants, const float2* heads, int u, int offset) const {
    const float2 head = heads[u];
    const int dot = Dot32(codes, quants, u) - offset * QuantSum(head);
    return scale * head.x * static_cast<float>(dot);
  }
};

// scale * code + min
struct MinBlock {
  uint32_t codes[8];
  float scale;
  float min;

  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    const float2 head = heads[u];
    const float sum = head.x * static_cast<float>(QuantSum(head));
    return fmaf(min, sum, scale * head.x * static_cast<float>(Dot32(codes, quants, u)));
  }
};

}  // namespace

template <>
struct Unit<ElementType::kQ4_0> : OffsetBlock {
  __device__ void Load(const uint8_t* row, int64_t k, int u) {
    LoadNibbles(row, u, codes);
    scale = HalfAt(row + k / 2 + 2 * u);
  }
  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    return Product(quants, heads, u, 8);
  }
};

template <>
struct Unit<ElementType::kQ5_0> : OffsetBlock {
  __device__ void Load(const uint8_t* row, int64_t k, int u) {
    LoadNibbles(row, u, codes);
    AddHighBits(row, k, u, codes);
    scale = HalfAt(row + k / 2 + k / 8 + 2 * u);
  }
  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    return Product(quants, heads, u, 16);
  }
};

template <>
struct Unit<ElementType::kQ8_0> : OffsetBlock {
  __device__ void Load(const uint8_t* row, int64_t k, int u) {
    StoreInt4(Int4At(row + 32 * static_cast<int64_t>(u)), codes);
    StoreInt4(Int4At(row + 32 * static_cast<int64_t>(u) + 16), codes + 4);
    scale = HalfAt(row + k + 2 * u);
  }
  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    return Product(quants, heads, u, 0);
  }
};

template <>
struct Unit<ElementType::kQ4_1> : MinBlock {
  __device__ void Load(const uint8_t* row, int64_t k, int u) {
    LoadNibbles(row, u, codes);
    scale = HalfAt(row + k / 2 + 4 * u);
    min = HalfAt(row + k / 2 + 4 * u + 2);
  }
};

template <>
struct Unit<ElementType::kQ5_1> : MinBlock {
  __device__ void Load(const uint8_t* row, int64_t k, int u) {
    LoadNibbles(row, u, codes);
    AddHighBits(row, k, u, codes);
    scale = HalfAt(row + k / 2 + k / 8 + 4 * u);
    min = HalfAt(row + k / 2 + k / 8 + 4 * u + 2);
  }
};

KernelStatus Mmvq32(const MmvqArgs& args, KernelStream stream);

KernelStatus Mmvq32(const MmvqArgs& args, KernelStream stream) {
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  switch (args.type) {
    case ElementType::kQ4_0:
      return RunMmvq<ElementType::kQ4_0>(args, row_bytes, 32, stream);
    case ElementType::kQ4_1:
      return RunMmvq<ElementType::kQ4_1>(args, row_bytes, 32, stream);
    case ElementType::kQ5_0:
      return RunMmvq<ElementType::kQ5_0>(args, row_bytes, 32, stream);
    case ElementType::kQ5_1:
      return RunMmvq<ElementType::kQ5_1>(args, row_bytes, 32, stream);
    case ElementType::kQ8_0:
      return RunMmvq<ElementType::kQ8_0>(args, row_bytes, 32, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
