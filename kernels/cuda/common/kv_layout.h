// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a KV page of the CUDA backend looks like. A page holds 64 cells of one layer; the KV heads
// stand one after another. The slab of a head, K and V alike:
//
//   elements   (cell, d) at cell * padded + d, padded = the head's dimension rounded up to 16, so
//              that every cell starts at a multiple of 16 bytes; elements past the dimension are 0
//   scales     q8_0 only, after the elements: f16 (cell, block) at cell * blocks + block, one for
//              each 32 values; value = scale * int8
#pragma once

#include <cstdint>

#include "kernels/quant/kv_format.h"

#if defined(__CUDACC__)
#define MINFER_HOST_DEVICE __host__ __device__
#else
#define MINFER_HOST_DEVICE
#endif

namespace minfer::kernels::cuda {

inline constexpr int kKvBlock = 32;

MINFER_HOST_DEVICE constexpr int KvPadded(int dim) { return (dim + 15) / 16 * 16; }
MINFER_HOST_DEVICE constexpr int KvBlocks(int dim) { return (dim + kKvBlock - 1) / kKvBlock; }
MINFER_HOST_DEVICE constexpr int KvElementBytes(KvFormat format) {
  return format == KvFormat::kF32 ? 4 : format == KvFormat::kF16 ? 2 : 1;
}
// Bytes from the start of a slab to its scales.
MINFER_HOST_DEVICE constexpr int64_t KvPlaneBytes(KvFormat format, int dim) {
  return int64_t{kKvPageCells} * KvPadded(dim) * KvElementBytes(format);
}
MINFER_HOST_DEVICE constexpr int64_t KvSlabBytes(KvFormat format, int dim) {
  return KvPlaneBytes(format, dim) +
         (format == KvFormat::kQ8_0 ? int64_t{2} * kKvPageCells * KvBlocks(dim) : 0);
}
MINFER_HOST_DEVICE constexpr int64_t KvPageBytes(KvFormat format, int n_kv_heads, int dim) {
  return n_kv_heads * KvSlabBytes(format, dim);
}

// One side (K or V) of a layer's store.
struct KvSide {
  uint8_t* pages = nullptr;
  int64_t page_bytes = 0;
  int64_t n_pages = 0;
  KvFormat format = KvFormat::kF32;
  int32_t dim = 0;
};

}  // namespace minfer::kernels::cuda
