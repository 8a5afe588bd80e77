// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a KV page of the CPU backend looks like. A page holds 64 cells of one layer; the KV heads
// stand one after another, so that a task that attends one head streams one contiguous slab.
//
//   K slab of a head   element (d, cell) at d * 64 + cell: transposed, so that the scores of
//                      neighbouring cells are neighbouring lanes and need no horizontal sum
//   V slab of a head   element (cell, d) at cell * padded + d, padded = head_dim_v rounded up to
//                      16 (the widest vector), so that no kernel reads a partial vector
//   f32, f16           the elements, and nothing else
//   q8_0               the int8 elements, then the f16 scales: scale (block, cell) at
//                      block * 64 + cell, one for each 32 values of a row (the last block of a
//                      head may be shorter); value = scale * int8
//
// The functions are static, not inline: ISA units include this header, and the linker must never
// pick their copy of a shared function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

inline constexpr int kKvBlock = 32;     // values of a row under one q8_0 scale
inline constexpr int kKvDimAlign = 16;  // V rows are padded to this many values

[[maybe_unused]] static constexpr int64_t KvPaddedDim(int32_t head_dim) {
  return (int64_t{head_dim} + kKvDimAlign - 1) / kKvDimAlign * kKvDimAlign;
}

[[maybe_unused]] static constexpr int64_t KvBlocks(int32_t head_dim) {
  return (int64_t{head_dim} + kKvBlock - 1) / kKvBlock;
}

[[maybe_unused]] static constexpr size_t KvElementBytes(KvFormat format) {
  return format == KvFormat::kF32 ? 4 : format == KvFormat::kF16 ? 2 : 1;
}

// Bytes from the start of a slab to its scales; for the other formats, the slab's size.
[[maybe_unused]] static constexpr size_t KvPlaneBytes(KvFormat format, int64_t row_elements) {
  return KvElementBytes(format) * kKvPageCells * static_cast<size_t>(row_elements);
}

[[maybe_unused]] static constexpr size_t KvScaleBytes(KvFormat format, int32_t head_dim) {
  return format == KvFormat::kQ8_0 ? 2 * kKvPageCells * static_cast<size_t>(KvBlocks(head_dim)) : 0;
}

[[maybe_unused]] static constexpr size_t KSlabBytes(KvFormat format, int32_t head_dim_k) {
  return KvPlaneBytes(format, head_dim_k) + KvScaleBytes(format, head_dim_k);
}

[[maybe_unused]] static constexpr size_t VSlabBytes(KvFormat format, int32_t head_dim_v) {
  return KvPlaneBytes(format, KvPaddedDim(head_dim_v)) + KvScaleBytes(format, head_dim_v);
}

// Bytes of a page; both are multiples of 64.
[[maybe_unused]] static constexpr size_t KPageBytes(KvFormat format, int32_t n_kv_heads,
                                                    int32_t head_dim_k) {
  return static_cast<size_t>(n_kv_heads) * KSlabBytes(format, head_dim_k);
}

[[maybe_unused]] static constexpr size_t VPageBytes(KvFormat format, int32_t n_kv_heads,
                                                    int32_t head_dim_v) {
  return static_cast<size_t>(n_kv_heads) * VSlabBytes(format, head_dim_v);
}

// One head's slab of one page, ready to read or write.
struct KvSlab {
  uint8_t* elements;
  uint16_t* scales;  // q8_0 only
};

[[maybe_unused]] static KvSlab KSlabOf(const KvLayerView& kv, int64_t page, int32_t kv_head) {
  uint8_t* base = static_cast<uint8_t*>(kv.k_pages) + page * static_cast<int64_t>(kv.k_page_bytes) +
                  kv_head * static_cast<int64_t>(KSlabBytes(kv.k_format, kv.head_dim_k));
  return {base, reinterpret_cast<uint16_t*>(base + KvPlaneBytes(kv.k_format, kv.head_dim_k))};
}

[[maybe_unused]] static KvSlab VSlabOf(const KvLayerView& kv, int64_t page, int32_t kv_head) {
  uint8_t* base = static_cast<uint8_t*>(kv.v_pages) + page * static_cast<int64_t>(kv.v_page_bytes) +
                  kv_head * static_cast<int64_t>(VSlabBytes(kv.v_format, kv.head_dim_v));
  return {base, reinterpret_cast<uint16_t*>(base +
                                            KvPlaneBytes(kv.v_format, KvPaddedDim(kv.head_dim_v)))};
}

// The canonical row of physical cell `cell` (page * 64 + slot), as float: k_out gets n_kv_heads *
// head_dim_k values, v_out n_kv_heads * head_dim_v. Either may be nullptr. Storing a row that was
// read gives back the same floats, in every format.
void ReadKvRow(const KvLayerView& kv, int64_t cell, float* k_out, float* v_out);

// Copies cell `from` to cell `to` of the same layer without converting anything.
void CopyKvCell(const KvLayerView& kv, int64_t from, int64_t to);

}  // namespace minfer::kernels
