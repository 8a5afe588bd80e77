// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/reference/matmul_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cpu/matmul_check.h"
#include "kernels/quant/blocks.h"
#include "kernels/quant/decode_block.h"
#include "kernels/quant/dequantize.h"
#include "kernels/quant/flushed_math.h"
#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

// Quantises `count` values into q; returns the scale (NaN, and zeros, when one is not finite).
float QuantizeBlock(const float* x, int count, int8_t* q) {
  uint32_t largest = 0;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  }
  const bool finite = largest < 0x7f800000u;
  const float magnitude = std::bit_cast<float>(largest);
  if (!finite || magnitude < kSmallestActivation) {
    std::memset(q, 0, static_cast<size_t>(count));
    return finite ? 0.0f : std::bit_cast<float>(0x7fc00000u);
  }
  const float inverse = 127.0f / magnitude;
  for (int i = 0; i < count; ++i) q[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
  return magnitude / 127.0f;
}

int SumOf(const int8_t* q, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += q[i];
  return sum;
}

void QuantizeRow32(const float* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < k; i += kBlock, out += sizeof(ActivationBlock32)) {
    ActivationBlock32 block = {};
    block.scale = QuantizeBlock(x + i, kBlock, block.quants);
    const int sum = SumOf(block.quants, kBlock);
    block.scaled_sum = block.scale * static_cast<float>(sum);
    block.negated_sum = -sum;
    std::memcpy(out, &block, sizeof(block));
  }
}

void QuantizeRow256(const float* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < k; i += kSuperBlock, out += sizeof(ActivationBlock256)) {
    ActivationBlock256 block = {};
    block.scale = QuantizeBlock(x + i, kSuperBlock, block.quants);
    for (int j = 0; j < 16; ++j) {
      block.sums_16[j] = static_cast<int16_t>(SumOf(block.quants + 16 * j, 16));
    }
    for (int j = 0; j < 8; ++j) {
      block.sums_32[j] = static_cast<int16_t>(block.sums_16[2 * j] + block.sums_16[2 * j + 1]);
    }
    std::memcpy(out, &block, sizeof(block));
  }
}

void RoundRowToBFloat16(const float* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < (k + 31) / 32 * 32; ++i) {
    const uint16_t value = i < k ? FloatToBFloat16(x[i]) : uint16_t{0};
    std::memcpy(out + 2 * i, &value, sizeof(value));
  }
}

// One block's part of a product, added to sum.
float AddProduct(const BlockQ4_0& w, const ActivationBlock32& a, float sum) {
  int codes = 0;
  for (int i = 0; i < 16; ++i) {
    codes += ((w.quants[i] & 15) - 8) * a.quants[i] + ((w.quants[i] >> 4) - 8) * a.quants[16 + i];
  }
  return std::fma(static_cast<float>(codes), HalfToFloat(w.scale) * a.scale, sum);
}

float AddProduct(const BlockQ4_1& w, const ActivationBlock32& a, float sum) {
  int codes = 0;
  for (int i = 0; i < 16; ++i) {
    codes += (w.quants[i] & 15) * a.quants[i] + (w.quants[i] >> 4) * a.quants[16 + i];
  }
  sum = std::fma(static_cast<float>(codes), HalfToFloat(w.scale) * a.scale, sum);
  return std::fma(HalfToFloat(w.min), a.scaled_sum, sum);
}

float AddProduct(const BlockQ8_0& w, const ActivationBlock32& a, float sum) {
  int codes = 0;
  for (int i = 0; i < kBlock; ++i) codes += w.quants[i] * a.quants[i];
  return std::fma(static_cast<float>(codes), HalfToFloat(w.scale) * a.scale, sum);
}

// Bit i of the 32 bits in four bytes.
int BitOf(const uint8_t* bytes, int i) { return (bytes[i / 8] >> (i % 8)) & 1; }

// The sum of codes (less `excess`) times quants of Q5_0 and Q5_1.
template <typename Block>
int FiveBitDot(const Block& w, const ActivationBlock32& a, int excess) {
  int sum = 0;
  for (int i = 0; i < 16; ++i) {
    const int low = (w.quants[i] & 15) | BitOf(w.high, i) << 4;
    const int high = (w.quants[i] >> 4) | BitOf(w.high, 16 + i) << 4;
    sum += (low - excess) * a.quants[i] + (high - excess) * a.quants[16 + i];
  }
  return sum;
}

float AddProduct(const BlockQ5_0& w, const ActivationBlock32& a, float sum) {
  return std::fma(static_cast<float>(FiveBitDot(w, a, 16)), HalfToFloat(w.scale) * a.scale, sum);
}

float AddProduct(const BlockQ5_1& w, const ActivationBlock32& a, float sum) {
  sum = std::fma(static_cast<float>(FiveBitDot(w, a, 0)), HalfToFloat(w.scale) * a.scale, sum);
  return std::fma(HalfToFloat(w.min), a.scaled_sum, sum);
}

// The sum of looked-up codes times quants of 16 bytes.
int LookedUpDot(const int8_t* table, const uint8_t* bytes, const int8_t* quants) {
  int sum = 0;
  for (int i = 0; i < 16; ++i) {
    sum += table[bytes[i] & 15] * quants[i] + table[bytes[i] >> 4] * quants[16 + i];
  }
  return sum;
}

float AddProduct(const BlockIQ4_NL& w, const ActivationBlock32& a, float sum) {
  const int codes = LookedUpDot(kIq4Values, w.quants, a.quants);
  return std::fma(static_cast<float>(codes), HalfToFloat(w.scale) * a.scale, sum);
}

float AddProduct(const BlockMXFP4& w, const ActivationBlock32& a, float sum) {
  const int codes = LookedUpDot(kE2M1Doubled, w.quants, a.quants);
  return std::fma(static_cast<float>(codes), MxScale(w.exponent) * a.scale, sum);
}

// Q4_K and Q5_K; fifth_bit(j, i) is bit 4 of value i of sub-block j.
template <typename Block, typename Fn>
float AddScaleMinProduct(const Block& w, const ActivationBlock256& a, float sum, Fn fifth_bit) {
  int scaled = 0;
  int mins = 0;
  for (int j = 0; j < 8; ++j) {
    const ScaleMin sub = UnpackScaleMin(w.scales, j);
    int codes = 0;
    for (int i = 0; i < 32; ++i) {
      const uint8_t byte = w.quants[32 * (j / 2) + i];
      const int code = (j % 2 == 0 ? byte & 15 : byte >> 4) | fifth_bit(j, i) << 4;
      codes += code * a.quants[32 * j + i];
    }
    scaled += sub.scale * codes;
    mins += sub.min * a.sums_32[j];
  }
  sum = std::fma(static_cast<float>(scaled), HalfToFloat(w.scale) * a.scale, sum);
  return std::fma(-static_cast<float>(mins), HalfToFloat(w.min) * a.scale, sum);
}

float AddProduct(const BlockQ4_K& w, const ActivationBlock256& a, float sum) {
  return AddScaleMinProduct(w, a, sum, [](int, int) { return 0; });
}

float AddProduct(const BlockQ5_K& w, const ActivationBlock256& a, float sum) {
  return AddScaleMinProduct(w, a, sum, [&](int j, int i) { return (w.high[i] >> j) & 1; });
}

// Two bits of value i of Q2_K and Q3_K.
int TwoBits(const uint8_t* quants, int i) {
  return (quants[32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4))) & 3;
}

float AddProduct(const BlockQ2_K& w, const ActivationBlock256& a, float sum) {
  int scaled = 0;
  int mins = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    scaled += (w.scales[i / 16] & 15) * TwoBits(w.quants, i) * a.quants[i];
  }
  for (int j = 0; j < 16; ++j) mins += (w.scales[j] >> 4) * a.sums_16[j];
  sum = std::fma(static_cast<float>(scaled), HalfToFloat(w.scale) * a.scale, sum);
  return std::fma(-static_cast<float>(mins), HalfToFloat(w.min) * a.scale, sum);
}

float AddProduct(const BlockQ3_K& w, const ActivationBlock256& a, float sum) {
  int scaled = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    const int code = TwoBits(w.quants, i) | ((w.high[i % 32] >> (i / 32)) & 1) << 2;
    scaled += UnpackQ3Scale(w.scales, i / 16) * (code - 4) * a.quants[i];
  }
  return std::fma(static_cast<float>(scaled), HalfToFloat(w.scale) * a.scale, sum);
}

float AddProduct(const BlockQ6_K& w, const ActivationBlock256& a, float sum) {
  int scaled = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128;
    const int group = (i % 128) / 32;
    const uint8_t low = w.low[64 * half + 32 * (group % 2) + i % 32];
    const int high = (w.high[32 * half + i % 32] >> (2 * group)) & 3;
    const int code = (group < 2 ? low & 15 : low >> 4) | high << 4;
    scaled += w.scales[i / 16] * (code - 32) * a.quants[i];
  }
  return std::fma(static_cast<float>(scaled), HalfToFloat(w.scale) * a.scale, sum);
}

float AddProduct(const BlockIQ4_XS& w, const ActivationBlock256& a, float sum) {
  int scaled = 0;
  for (int j = 0; j < 8; ++j) {
    const int low = (w.scales_low[j / 2] >> (4 * (j % 2))) & 15;
    const int high = (w.scales_high >> (2 * j)) & 3;
    const int codes = LookedUpDot(kIq4Values, w.quants + 16 * j, a.quants + 32 * j);
    scaled += ((low | high << 4) - 32) * codes;
  }
  return std::fma(static_cast<float>(scaled), HalfToFloat(w.scale) * a.scale, sum);
}

template <typename Block, typename Activation>
float QuantizedDot(const uint8_t* weights, const uint8_t* activations, int64_t blocks) {
  float sum = 0.0f;
  for (int64_t b = 0; b < blocks; ++b) {
    Block w;
    Activation a;
    std::memcpy(&w, weights + b * static_cast<int64_t>(sizeof(w)), sizeof(w));
    std::memcpy(&a, activations + b * static_cast<int64_t>(sizeof(a)), sizeof(a));
    sum = AddProduct(w, a, sum);
  }
  return sum;
}

// Values decoded at a time; a multiple of every block.
constexpr int64_t kDecoded = 256;

// Calls fn(values, position, count) for the decoded parts of a row.
template <typename Fn>
void ForDecoded(ElementType type, const uint8_t* row, int64_t k, Fn fn) {
  const ElementTraits& traits = *FindElementTraits(type);
  float values[kDecoded];
  for (int64_t i = 0; i < k; i += kDecoded) {
    const int64_t count = std::min(kDecoded, k - i);
    DequantizeRow(type, row + i / traits.block_elements * traits.block_bytes, values, count);
    fn(values, i, count);
  }
}

float FloatDot(ElementType type, const uint8_t* row, const float* x, int64_t k) {
  float sums[16] = {};
  ForDecoded(type, row, k, [&](const float* values, int64_t position, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      sums[i % 16] = std::fma(values[i], x[position + i], sums[i % 16]);
    }
  });
  for (int width = 8; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) sums[l] += sums[l + width];
  }
  return sums[0];
}

float BFloat16Dot(const uint8_t* row, const uint8_t* x, int64_t k) {
  float sums[16] = {};
  const auto value = [k](const uint8_t* values, int64_t i) {
    uint16_t bits = 0;
    if (i < k) std::memcpy(&bits, values + 2 * i, sizeof(bits));
    return FlushToZero(BFloat16ToFloat(bits));
  };
  for (int64_t i = 0; i < k; i += 32) {
    for (int64_t l = 0; l < 16; ++l) {
      for (int64_t at : {i + 2 * l + 1, i + 2 * l}) {
        sums[l] = FlushedFma(value(row, at), value(x, at), sums[l]);
      }
    }
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) sums[l] = FlushedAdd(sums[l], sums[l + width]);
  }
  return sums[0];
}

float Dot(ElementType type, const uint8_t* row, const uint8_t* activations, int64_t k) {
  switch (type) {
    case ElementType::kBF16:
      return BFloat16Dot(row, activations, k);
    case ElementType::kQ4_0:
      return QuantizedDot<BlockQ4_0, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kQ4_1:
      return QuantizedDot<BlockQ4_1, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kQ5_0:
      return QuantizedDot<BlockQ5_0, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kQ5_1:
      return QuantizedDot<BlockQ5_1, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kQ8_0:
      return QuantizedDot<BlockQ8_0, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kIQ4_NL:
      return QuantizedDot<BlockIQ4_NL, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kMXFP4:
      return QuantizedDot<BlockMXFP4, ActivationBlock32>(row, activations, k / kBlock);
    case ElementType::kQ2_K:
      return QuantizedDot<BlockQ2_K, ActivationBlock256>(row, activations, k / kSuperBlock);
    case ElementType::kQ3_K:
      return QuantizedDot<BlockQ3_K, ActivationBlock256>(row, activations, k / kSuperBlock);
    case ElementType::kQ4_K:
      return QuantizedDot<BlockQ4_K, ActivationBlock256>(row, activations, k / kSuperBlock);
    case ElementType::kQ5_K:
      return QuantizedDot<BlockQ5_K, ActivationBlock256>(row, activations, k / kSuperBlock);
    case ElementType::kQ6_K:
      return QuantizedDot<BlockQ6_K, ActivationBlock256>(row, activations, k / kSuperBlock);
    case ElementType::kIQ4_XS:
      return QuantizedDot<BlockIQ4_XS, ActivationBlock256>(row, activations, k / kSuperBlock);
    default:
      return FloatDot(type, row, reinterpret_cast<const float*>(activations), k);
  }
}

}  // namespace

KernelStatus ReferenceQuantizeRow(ActivationFormat format, const float* x, int64_t k, void* out) {
  const KernelStatus status = CheckActivations(format, k);
  if (status != KernelStatus::kOk) return status;
  switch (format) {
    case ActivationFormat::kF32:
      if (k > 0) std::memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
      break;
    case ActivationFormat::kBF16:
      RoundRowToBFloat16(x, k, static_cast<uint8_t*>(out));
      break;
    case ActivationFormat::kQ8Block32:
      QuantizeRow32(x, k, static_cast<uint8_t*>(out));
      break;
    case ActivationFormat::kQ8Block256:
      QuantizeRow256(x, k, static_cast<uint8_t*>(out));
      break;
  }
  return KernelStatus::kOk;
}

KernelStatus ReferenceMatMul(const MatMulArgs& args) {
  const KernelStatus status = CheckMatMul(args);
  if (status != KernelStatus::kOk) return status;
  for (int64_t r = args.row_begin; r < args.row_end; ++r) {
    const uint8_t* row =
        static_cast<const uint8_t*>(args.weights) + r * static_cast<int64_t>(args.weight_row_bytes);
    for (int64_t m = 0; m < args.m; ++m) {
      const uint8_t* x = static_cast<const uint8_t*>(args.activations) +
                         m * static_cast<int64_t>(args.activation_row_bytes);
      args.out[m * args.out_stride + r] = Dot(args.weight_type, row, x, args.k);
    }
  }
  return KernelStatus::kOk;
}

KernelStatus ReferenceFloatMatMul(const MatMulArgs& args) {
  const KernelStatus status = CheckMatMul(args);
  if (status != KernelStatus::kOk) return status;
  for (int64_t r = args.row_begin; r < args.row_end; ++r) {
    const uint8_t* row =
        static_cast<const uint8_t*>(args.weights) + r * static_cast<int64_t>(args.weight_row_bytes);
    for (int64_t m = 0; m < args.m; ++m) {
      const auto* x =
          reinterpret_cast<const float*>(static_cast<const uint8_t*>(args.activations) +
                                         m * static_cast<int64_t>(args.activation_row_bytes));
      double sum = 0.0;
      ForDecoded(args.weight_type, row, args.k,
                 [&](const float* values, int64_t position, int64_t count) {
                   for (int64_t i = 0; i < count; ++i) {
                     sum += static_cast<double>(values[i]) * static_cast<double>(x[position + i]);
                   }
                 });
      args.out[m * args.out_stride + r] = static_cast<float>(sum);
    }
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
