// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Turns rows of activations into their formats, once for every instruction set. The result
// has the bits of ReferenceQuantizeRow.
#pragma once

#include <cstring>

#include "kernels/cpu/matmul_check.h"
#include "kernels/quant/blocks.h"

namespace minfer::kernels {

// Quantises 16 * Vectors values into q. sums[v] is the sum of quants 16 v to 16 v + 15. Returns the
// scale: NaN, with zeros for quants, when a value is not finite; 0 when all are (nearly) zero.
template <class V, int Vectors>
[[gnu::always_inline]] inline float QuantizeValues(const uint8_t* x, uint8_t* q, int32_t* sums) {
  // Magnitudes compare as integers, and what is not finite is above all others.
  typename V::Ints largest = V::MagnitudeBits(V::LoadFloats(x));
#pragma GCC unroll 1
  for (int v = 1; v < Vectors; ++v) {
    largest = V::MaxInts(largest, V::MagnitudeBits(V::LoadFloats(x + 64 * v)));
  }
  const int32_t bits = V::LargestInt(largest);
  float magnitude;
  std::memcpy(&magnitude, &bits, sizeof(magnitude));
  const bool finite = bits < 0x7f800000;
  if (!finite || magnitude < kSmallestActivation) {
    std::memset(q, 0, 16 * Vectors);
    std::memset(sums, 0, sizeof(int32_t) * Vectors);
    return finite ? 0.0f : __builtin_nanf("");
  }
  const float inverse = 127.0f / magnitude;
#pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) {
    const typename V::Ints rounded = V::RoundScaled(V::LoadFloats(x + 64 * v), inverse);
    V::StoreBytes(q + 16 * v, rounded);
    sums[v] = V::SumInts(rounded);
  }
  return magnitude / 127.0f;
}

template <class V>
void QuantizeRow32(const uint8_t* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < k; i += kBlock, x += 4 * kBlock, out += sizeof(ActivationBlock32)) {
    ActivationBlock32 block;
    int32_t sums[2];
    block.scale = QuantizeValues<V, 2>(x, out + offsetof(ActivationBlock32, quants), sums);
    const int32_t sum = sums[0] + sums[1];
    block.scaled_sum = block.scale * static_cast<float>(sum);
    block.negated_sum = -sum;
    block.unused = 0;
    std::memcpy(out, &block, offsetof(ActivationBlock32, quants));
  }
}

template <class V>
void QuantizeRow256(const uint8_t* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < k;
       i += kSuperBlock, x += 4 * kSuperBlock, out += sizeof(ActivationBlock256)) {
    ActivationBlock256 block;
    int32_t sums[16];
    block.scale = QuantizeValues<V, 16>(x, out + offsetof(ActivationBlock256, quants), sums);
    std::memset(block.unused, 0, sizeof(block.unused));
    for (int j = 0; j < 16; ++j) block.sums_16[j] = static_cast<int16_t>(sums[j]);
    for (int j = 0; j < 8; ++j) {
      block.sums_32[j] = static_cast<int16_t>(sums[2 * j] + sums[2 * j + 1]);
    }
    std::memcpy(out, &block, offsetof(ActivationBlock256, quants));
  }
}

// To BF16, to nearest even; zeros up to a whole step of the product. Denormals stay.
template <class V>
void RoundRowToBFloat16(const uint8_t* __restrict x, int64_t k, uint8_t* __restrict out) {
  for (int64_t i = 0; i < k; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + 4 * i, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet_nan = (bits >> 16) | 0x40u;
    const auto value =
        static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
    std::memcpy(out + 2 * i, &value, sizeof(value));
  }
  const auto used = static_cast<size_t>(k) * 2;
  std::memset(out + used, 0, ActivationRowBytes(ActivationFormat::kBF16, k) - used);
}

template <class V>
KernelStatus QuantizeActivations(ActivationFormat format, const float* x, int64_t k, void* out) {
  const KernelStatus status = CheckActivations(format, k);
  if (status != KernelStatus::kOk) return status;
  const auto* bytes = reinterpret_cast<const uint8_t*>(x);
  switch (format) {
    case ActivationFormat::kF32:
      if (k > 0) std::memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
      break;
    case ActivationFormat::kQ8Block32:
      QuantizeRow32<V>(bytes, k, static_cast<uint8_t*>(out));
      break;
    case ActivationFormat::kBF16:
      RoundRowToBFloat16<V>(bytes, k, static_cast<uint8_t*>(out));
      break;
    case ActivationFormat::kQ8Block256:
      QuantizeRow256<V>(bytes, k, static_cast<uint8_t*>(out));
      break;
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
