// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Walks a matrix product in tiles whose vectors lie along the rows. A Tile has kRows, kColumns and
// Run<Rows, N>(args, row0, m0), which computes Rows weight rows from row0 (all exist) by N
// activation rows from m0.
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels {

// The tile of `columns` (1 to N) activation rows.
template <class Tile, int Rows, int N>
inline void TileOf(const MatMulArgs& args, int64_t row0, int64_t m0, int64_t columns) {
  if constexpr (N > 1) {
    if (columns < N) {
      TileOf<Tile, Rows, N - 1>(args, row0, m0, columns);
      return;
    }
  }
  Tile::template Run<Rows, N>(args, row0, m0);
}

template <class Tile, int Rows>
void WalkRows(const MatMulArgs& args, int64_t row0) {
  for (int64_t m = 0; m < args.m; m += Tile::kColumns) {
    const int64_t columns = args.m - m < Tile::kColumns ? args.m - m : Tile::kColumns;
    TileOf<Tile, Rows, Tile::kColumns>(args, row0, m, columns);
  }
}

template <class Tile>
void WalkTiles(const MatMulArgs& args) {
  int64_t r = args.row_begin;
  for (; r + Tile::kRows <= args.row_end; r += Tile::kRows) WalkRows<Tile, Tile::kRows>(args, r);
  for (; r < args.row_end; ++r) WalkRows<Tile, 1>(args, r);
}

}  // namespace minfer::kernels
