// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Stores one row of K and V into its cell, in the format of the page: a template on an ISA's Simd.
// Rounding is to nearest even in every unit, so the stored bits are the same in all of them.
#pragma once

#include <cstdint>

#include "kernels/cpu/kv_layout.h"

namespace minfer::kernels {

inline constexpr float kHalfLargest = 65504.0f;

template <typename V>
struct KvStore {
  // A value too large for f16 is stored as the largest one, so that the cache stays finite; a NaN
  // stays a NaN.
  static uint16_t ToHalf(float x) {
    const float low = x < -kHalfLargest ? -kHalfLargest : x;
    return V::HalfBits(low > kHalfLargest ? kHalfLargest : low);
  }

  // q8_0: scale = largest magnitude / 127 as f16, value = nearest(x * 127 / largest). A block that
  // holds a NaN or an infinity gets the scale NaN and so reads back as NaN.
  static uint16_t QuantizeBlock(const float* x, int32_t n, int8_t* out) {
    float largest = 0.0f;
    float broken = 0.0f;
    for (int32_t i = 0; i < n; ++i) {
      const float magnitude = __builtin_fabsf(x[i]);
      largest = magnitude > largest ? magnitude : largest;
      broken += x[i] * 0.0f;
    }
    if (broken != 0.0f) {  // true for NaN alone
      for (int32_t i = 0; i < n; ++i) out[i] = 0;
      return 0x7e00;
    }
    // Below this even the smallest f16 scale rounds to 0, and 127 / largest could overflow.
    if (largest < 0x1p-20f) largest = 0.0f;
    const float inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
    for (int32_t i = 0; i < n; ++i) {
      // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even.
      const float rounded = (x[i] * inverse + 12582912.0f) - 12582912.0f;
      out[i] = static_cast<int8_t>(rounded);
    }
    return ToHalf(largest / 127.0f);
  }

  static void StoreKHead(const KvLayerView& kv, const KvSlab& slab, const float* k, int32_t slot) {
    const int32_t n = kv.head_dim_k;
    if (kv.k_format == KvFormat::kF32) {
      float* to = reinterpret_cast<float*>(slab.elements) + slot;
      for (int32_t d = 0; d < n; ++d) to[int64_t{d} * kKvPageCells] = k[d];
    } else if (kv.k_format == KvFormat::kF16) {
      uint16_t* to = reinterpret_cast<uint16_t*>(slab.elements) + slot;
      for (int32_t d = 0; d < n; ++d) to[int64_t{d} * kKvPageCells] = ToHalf(k[d]);
    } else {
      int8_t* to = reinterpret_cast<int8_t*>(slab.elements) + slot;
      for (int32_t d = 0; d < n; d += kKvBlock) {
        const int32_t count = n - d < kKvBlock ? n - d : kKvBlock;
        int8_t quants[kKvBlock];
        slab.scales[d / kKvBlock * kKvPageCells + slot] = QuantizeBlock(k + d, count, quants);
        for (int32_t i = 0; i < count; ++i) to[int64_t{d + i} * kKvPageCells] = quants[i];
      }
    }
  }

  // The padding of the row is written too, so that a page never shows memory of others.
  static void StoreVHead(const KvLayerView& kv, const KvSlab& slab, const float* v, int32_t slot) {
    const int32_t n = kv.head_dim_v;
    const int64_t padded = KvPaddedDim(n);
    if (kv.v_format == KvFormat::kF32) {
      float* to = reinterpret_cast<float*>(slab.elements) + slot * padded;
      for (int32_t i = 0; i < n; ++i) to[i] = v[i];
      for (int64_t i = n; i < padded; ++i) to[i] = 0.0f;
    } else if (kv.v_format == KvFormat::kF16) {
      uint16_t* to = reinterpret_cast<uint16_t*>(slab.elements) + slot * padded;
      for (int32_t i = 0; i < n; ++i) to[i] = ToHalf(v[i]);
      for (int64_t i = n; i < padded; ++i) to[i] = 0;
    } else {
      int8_t* to = reinterpret_cast<int8_t*>(slab.elements) + slot * padded;
      for (int32_t i = 0; i < n; i += kKvBlock) {
        const int32_t count = n - i < kKvBlock ? n - i : kKvBlock;
        slab.scales[i / kKvBlock * kKvPageCells + slot] = QuantizeBlock(v + i, count, to + i);
      }
      for (int64_t i = n; i < padded; ++i) to[i] = 0;
    }
  }

  static KernelStatus Store(const KvLayerView& kv, const float* k, const float* v, int64_t cell) {
    if (cell < 0) return KernelStatus::kBadShape;
    const int64_t page = cell / kKvPageCells;
    const auto slot = static_cast<int32_t>(cell % kKvPageCells);
    for (int32_t h = 0; h < kv.n_kv_heads; ++h) {
      StoreKHead(kv, KSlabOf(kv, page, h), k + int64_t{h} * kv.head_dim_k, slot);
      StoreVHead(kv, VSlabOf(kv, page, h), v + int64_t{h} * kv.head_dim_v, slot);
    }
    return KernelStatus::kOk;
  }
};

}  // namespace minfer::kernels
