// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/kv_layout.h"

#include <cstring>

#include "kernels/quant/half.h"

namespace minfer::kernels {
namespace {

float ReadElement(KvFormat format, const KvSlab& slab, int64_t index, int64_t scale_index) {
  switch (format) {
    case KvFormat::kF32:
      return reinterpret_cast<const float*>(slab.elements)[index];
    case KvFormat::kF16:
      return HalfToFloat(reinterpret_cast<const uint16_t*>(slab.elements)[index]);
    case KvFormat::kQ8_0:
      return HalfToFloat(slab.scales[scale_index]) *
             static_cast<float>(reinterpret_cast<const int8_t*>(slab.elements)[index]);
  }
  return 0.0f;
}

// Copies `count` elements of `bytes` each, `stride` elements apart.
void CopyStrided(uint8_t* to, const uint8_t* from, int64_t count, int64_t stride, size_t bytes) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t offset = i * stride * static_cast<int64_t>(bytes);
    std::memcpy(to + offset, from + offset, bytes);
  }
}

void CopyScales(const KvSlab& to, int64_t to_slot, const KvSlab& from, int64_t from_slot,
                int64_t blocks) {
  for (int64_t b = 0; b < blocks; ++b) {
    to.scales[b * kKvPageCells + to_slot] = from.scales[b * kKvPageCells + from_slot];
  }
}

}  // namespace

void ReadKvRow(const KvLayerView& kv, int64_t cell, float* k_out, float* v_out) {
  const int64_t page = cell / kKvPageCells;
  const int64_t slot = cell % kKvPageCells;
  const int64_t padded = KvPaddedDim(kv.head_dim_v);
  for (int32_t h = 0; h < kv.n_kv_heads; ++h) {
    if (k_out != nullptr) {
      const KvSlab slab = KSlabOf(kv, page, h);
      for (int64_t d = 0; d < kv.head_dim_k; ++d) {
        k_out[int64_t{h} * kv.head_dim_k + d] = ReadElement(
            kv.k_format, slab, d * kKvPageCells + slot, d / kKvBlock * kKvPageCells + slot);
      }
    }
    if (v_out != nullptr) {
      const KvSlab slab = VSlabOf(kv, page, h);
      for (int64_t i = 0; i < kv.head_dim_v; ++i) {
        v_out[int64_t{h} * kv.head_dim_v + i] =
            ReadElement(kv.v_format, slab, slot * padded + i, i / kKvBlock * kKvPageCells + slot);
      }
    }
  }
}

void CopyKvCell(const KvLayerView& kv, int64_t from, int64_t to) {
  const int64_t from_slot = from % kKvPageCells;
  const int64_t to_slot = to % kKvPageCells;
  const int64_t padded = KvPaddedDim(kv.head_dim_v);
  const size_t k_bytes = KvElementBytes(kv.k_format);
  const size_t v_row = KvElementBytes(kv.v_format) * static_cast<size_t>(padded);
  for (int32_t h = 0; h < kv.n_kv_heads; ++h) {
    const KvSlab k_from = KSlabOf(kv, from / kKvPageCells, h);
    const KvSlab k_to = KSlabOf(kv, to / kKvPageCells, h);
    CopyStrided(k_to.elements + static_cast<size_t>(to_slot) * k_bytes,
                k_from.elements + static_cast<size_t>(from_slot) * k_bytes, kv.head_dim_k,
                kKvPageCells, k_bytes);
    if (kv.k_format == KvFormat::kQ8_0) {
      CopyScales(k_to, to_slot, k_from, from_slot, KvBlocks(kv.head_dim_k));
    }
    const KvSlab v_from = VSlabOf(kv, from / kKvPageCells, h);
    const KvSlab v_to = VSlabOf(kv, to / kKvPageCells, h);
    std::memcpy(v_to.elements + static_cast<size_t>(to_slot) * v_row,
                v_from.elements + static_cast<size_t>(from_slot) * v_row, v_row);
    if (kv.v_format == KvFormat::kQ8_0) {
      CopyScales(v_to, to_slot, v_from, from_slot, KvBlocks(kv.head_dim_v));
    }
  }
}

}  // namespace minfer::kernels
