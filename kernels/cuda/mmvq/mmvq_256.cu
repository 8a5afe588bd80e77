// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMVQ for super-blocks of 256 weights: eight units each.
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

// Unit (j, p) of Q4_K and Q5_K: bytes 16 p .. of the 32 that hold sub-blocks 2 j (low halves) and
// 2 j + 1 (high halves); it also carries the min of sub-block 2 j + p, for all its 32 values.
struct ScaledPair {
  uint32_t low[4];
  uint32_t high[4];
  float scale_low;
  float scale_high;
  float min;

  __device__ void LoadScales(const uint8_t* block, int j, int p) {
    const int2 first = SubScaleMin(block + 4, 2 * j);
    const int2 second = SubScaleMin(block + 4, 2 * j + 1);
    const float scale = HalfAt(block);
    scale_low = scale * static_cast<float>(first.x);
    scale_high = scale * static_cast<float>(second.x);
    min = HalfAt(block + 2) * static_cast<float>(p == 0 ? first.y : second.y);
  }

  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    const int pair = u / 2;  // of sub-blocks, counted from the start of the row
    const int p = u & 1;
    const int8_t* a = quants + 64 * static_cast<int64_t>(pair) + 16 * p;
    const float2 head_low = heads[2 * pair];
    const float2 head_high = heads[2 * pair + 1];
    const float2 head = p == 0 ? head_low : head_high;
    float sum = scale_low * head_low.x * static_cast<float>(Dot16(low, Int4At(a)));
    sum = fmaf(scale_high * head_high.x, static_cast<float>(Dot16(high, Int4At(a + 32))), sum);
    return fmaf(-min, head.x * static_cast<float>(QuantSum(head)), sum);
  }
};

}  // namespace

template <>
struct Unit<ElementType::kQ4_K> : ScaledPair {
  __device__ void Load(const uint8_t* row, int64_t, int u) {
    const uint8_t* block = row + static_cast<int64_t>(u / 8) * 144;
    const int j = u % 8 / 2;
    const int p = u & 1;
    uint32_t bytes[4];
    StoreInt4(Int4At(block + 16 + 32 * j + 16 * p), bytes);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = bytes[i] & 0x0f0f0f0fu;
      high[i] = (bytes[i] >> 4) & 0x0f0f0f0fu;
    }
    LoadScales(block, j, p);
  }
};

template <>
struct Unit<ElementType::kQ5_K> : ScaledPair {
  __device__ void Load(const uint8_t* row, int64_t, int u) {
    const uint8_t* block = row + static_cast<int64_t>(u / 8) * 176;
    const int j = u % 8 / 2;
    const int p = u & 1;
    uint32_t bytes[4];
    uint32_t bits[4];
    StoreInt4(Int4At(block + 48 + 32 * j + 16 * p), bytes);
    StoreInt4(Int4At(block + 16 + 16 * p), bits);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = (bytes[i] & 0x0f0f0f0fu) | ((bits[i] >> (2 * j)) & 0x01010101u) << 4;
      high[i] = ((bytes[i] >> 4) & 0x0f0f0f0fu) | ((bits[i] >> (2 * j + 1)) & 0x01010101u) << 4;
    }
    LoadScales(block, j, p);
  }
};

// Unit (h, p): columns 8 p .. 8 p + 7 of the four groups of 32 values in half h.
template <>
struct Unit<ElementType::kQ6_K> {
  uint2 codes[4];
  float scales[4];

  __device__ void Load(const uint8_t* row, int64_t, int u) {
    const uint8_t* block = row + static_cast<int64_t>(u / 8) * 224;
    const int h = u % 8 / 4;
    const int p = u & 3;
    const uint2 first = EightBytes(block + 64 * h + 8 * p);
    const uint2 second = EightBytes(block + 64 * h + 32 + 8 * p);
    const uint2 high = EightBytes(block + 128 + 32 * h + 8 * p);
    codes[0] = Join(first, 0, high, 0);
    codes[1] = Join(second, 0, high, 2);
    codes[2] = Join(first, 4, high, 4);
    codes[3] = Join(second, 4, high, 6);
    const float scale = HalfAt(block + 208);
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      const auto sub = static_cast<int8_t>(block[192 + 8 * h + 2 * g + p / 2]);
      scales[g] = scale * static_cast<float>(sub);
    }
  }

  __device__ float Dot(const int8_t* quants, const float2* heads, int u) const {
    const int half = u / 4;  // counted from the start of the row
    const int8_t* a = quants + 128 * static_cast<int64_t>(half) + 8 * (u & 3);
    float sum = 0.0f;
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      const int2 x = *reinterpret_cast<const int2*>(a + 32 * g);
      int dot = __dp4a(static_cast<int>(codes[g].x), x.x, 0);
      dot = __dp4a(static_cast<int>(codes[g].y), x.y, dot);
      int total = __dp4a(0x01010101, x.x, 0);
      total = __dp4a(0x01010101, x.y, total);
      sum = fmaf(scales[g] * heads[4 * half + g].x, static_cast<float>(dot - 32 * total), sum);
    }
    return sum;
  }

 private:
  __device__ static uint2 Join(uint2 low, int shift, uint2 high, int high_shift) {
    return make_uint2(
        ((low.x >> shift) & 0x0f0f0f0fu) | ((high.x >> high_shift) & 0x03030303u) << 4,
        ((low.y >> shift) & 0x0f0f0f0fu) | ((high.y >> high_shift) & 0x03030303u) << 4);
  }
};

KernelStatus Mmvq256(const MmvqArgs& args, KernelStream stream);

KernelStatus Mmvq256(const MmvqArgs& args, KernelStream stream) {
  const int64_t row_bytes = WeightRowBytes(args.type, args.k);
  switch (args.type) {
    case ElementType::kQ4_K:
      return RunMmvq<ElementType::kQ4_K>(args, row_bytes, 256, stream);
    case ElementType::kQ5_K:
      return RunMmvq<ElementType::kQ5_K>(args, row_bytes, 256, stream);
    case ElementType::kQ6_K:
      return RunMmvq<ElementType::kQ6_K>(args, row_bytes, 256, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
