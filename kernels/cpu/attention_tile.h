// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The two matrix products of attention on one page of one KV head, templates on an ISA's Simd:
//   ScoreTile   scores[row][cell] = sum over d of q[row][d] * K[d][cell]
//   ValueTile   acc[row][i] = acc[row][i] * correction[row] + sum over cells of p[row][cell] *
//               V[cell][i]
// Each output element is one chain of multiply-adds, over d or over the cells in ascending order.
// Rows and vectors are blocked so that the accumulators stay in registers; the blocking does not
// touch any chain, so a row's bits do not depend on its neighbours.
#pragma once

#include <cstdint>

#include "kernels/cpu/kv_layout.h"

namespace minfer::kernels {

// One query row and head inside a tile.
struct AttentionRow {
  const float* q;
  float* scores;  // [64], then the weights of the cells
  float* acc;     // [padded head_dim_v] of the stripe
  float* total;   // [padded head_dim_v] of the stripes before
  float* out;
  float acc_max;
  float acc_sum;
  float total_max;
  float total_sum;
  float correction;
  int32_t lo;  // visible cells: [lo, hi)
  int32_t hi;
  int32_t page_lo;  // the same inside the current page
  int32_t page_hi;
};

template <typename V, KvFormat kFormat>
typename V::F LoadKvElements(const uint8_t* elements, int64_t index) {
  if constexpr (kFormat == KvFormat::kF32) {
    return V::Load(reinterpret_cast<const float*>(elements) + index);
  } else if constexpr (kFormat == KvFormat::kF16) {
    return V::LoadF16(reinterpret_cast<const uint16_t*>(elements) + index);
  } else {
    return V::LoadI8(reinterpret_cast<const int8_t*>(elements) + index);
  }
}

// kRows rows, kVecs vectors of cells from cell `first`, all of head_dim.
template <typename V, KvFormat kFormat, int kRows, int kVecs>
void ScoreBlock(const KvSlab& slab, int32_t head_dim, int32_t first,
                const AttentionRow* const* rows) {
  using F = typename V::F;
  const float* q[kRows];
  F acc[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    q[r] = rows[r]->q;
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) acc[r][v] = V::Zero();
  }
  for (int32_t d = 0; d < head_dim;) {
    const int32_t block_end =
        kFormat != KvFormat::kQ8_0 || d + kKvBlock > head_dim ? head_dim : d + kKvBlock;
    F scale[kVecs];
    if constexpr (kFormat == KvFormat::kQ8_0) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        scale[v] = V::LoadF16(slab.scales + (d / kKvBlock) * kKvPageCells + first + v * V::kWidth);
      }
    }
    for (; d < block_end; ++d) {
      F k[kVecs];
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        k[v] = LoadKvElements<V, kFormat>(slab.elements,
                                          int64_t{d} * kKvPageCells + first + v * V::kWidth);
        if constexpr (kFormat == KvFormat::kQ8_0) k[v] = V::Mul(k[v], scale[v]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const F x = V::Set(q[r][d]);
#pragma GCC unroll 16
        for (int v = 0; v < kVecs; ++v) acc[r][v] = V::MulAdd(x, k[v], acc[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      V::Store(rows[r]->scores + first + v * V::kWidth, acc[r][v]);
    }
  }
}

template <typename V, KvFormat kFormat, int kRows>
void ScoreRows(const KvSlab& slab, int32_t head_dim, AttentionRow* const* rows) {
  constexpr int kVecs = kRows <= V::kFewRows ? V::kTileVecsFewRows : V::kTileVecs;
  for (int32_t first = 0; first < kKvPageCells; first += kVecs * V::kWidth) {
    ScoreBlock<V, kFormat, kRows, kVecs>(slab, head_dim, first, rows);
  }
}

// kRows rows, kVecs vectors of the head's values from value `first`, cells [lo, hi). scales: for
// q8_0, the page's scales as floats, [block][64].
template <typename V, KvFormat kFormat, int kRows, int kVecs>
void ValueBlock(const KvSlab& slab, int64_t padded, int64_t first, int32_t lo, int32_t hi,
                const float* scales, AttentionRow* const* rows) {
  using F = typename V::F;
  const float* p[kRows];
  F acc[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    p[r] = rows[r]->scores;
    const F correction = V::Set(rows[r]->correction);
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      acc[r][v] = V::Mul(V::Load(rows[r]->acc + first + v * V::kWidth), correction);
    }
  }
  for (int32_t c = lo; c < hi; ++c) {
    F value[kVecs];
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      const int64_t i = first + v * V::kWidth;
      value[v] = LoadKvElements<V, kFormat>(slab.elements, c * padded + i);
      if constexpr (kFormat == KvFormat::kQ8_0) {
        value[v] = V::Mul(value[v], V::Set(scales[i / kKvBlock * kKvPageCells + c]));
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F weight = V::Set(p[r][c]);
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) acc[r][v] = V::MulAdd(weight, value[v], acc[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      V::Store(rows[r]->acc + first + v * V::kWidth, acc[r][v]);
    }
  }
}

template <typename V, KvFormat kFormat, int kRows>
void ValueRows(const KvSlab& slab, int64_t padded, int32_t lo, int32_t hi, const float* scales,
               AttentionRow* const* rows) {
  constexpr int kVecs = kRows <= V::kFewRows ? V::kTileVecsFewRows : V::kTileVecs;
  int64_t i = 0;
  for (; i + kVecs * V::kWidth <= padded; i += kVecs * V::kWidth) {
    ValueBlock<V, kFormat, kRows, kVecs>(slab, padded, i, lo, hi, scales, rows);
  }
  for (; i < padded; i += V::kWidth) {
    ValueBlock<V, kFormat, kRows, 1>(slab, padded, i, lo, hi, scales, rows);
  }
}

// Calls fn.template operator()<R>(rows of a block) for blocks of R <= V::kTileRows rows that cover
// [0, n), as even as they can be.
template <typename V, typename Fn>
void ForRowBlocks(int32_t n, Fn fn) {
  for (int32_t done = 0; done < n;) {
    const int32_t blocks = (n - done + V::kTileRows - 1) / V::kTileRows;
    const int32_t size = (n - done + blocks - 1) / blocks;
    switch (size) {
      case 1:
        fn.template operator()<1>(done);
        break;
      case 2:
        fn.template operator()<2>(done);
        break;
      case 3:
        fn.template operator()<3>(done);
        break;
      case 4:
        fn.template operator()<4>(done);
        break;
      case 5:
        if constexpr (V::kTileRows >= 5) fn.template operator()<5>(done);
        break;
      default:
        if constexpr (V::kTileRows >= 6) fn.template operator()<6>(done);
        break;
    }
    done += size;
  }
}

}  // namespace minfer::kernels
