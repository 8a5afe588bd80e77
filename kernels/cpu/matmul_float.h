// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product with float weights (F32, F16) and with every type that has no kernel of its
// own, whose rows are decoded first. Activations are floats.
//
// Each output element has sixteen partial sums; sum l takes values l, l + 16, ... in order, and one
// fixed tree adds them up (V::Sum). V::Floats is the vector of sixteen, whatever the registers are.
// A tile is kFloatRows weight rows by N activation rows, so that a loaded vector is used more than
// once; the tile's shape doesn't touch the order of an element's additions.
#pragma once

#include <cstring>

#include "kernels/cpu/matmul_check.h"
#include "kernels/cpu/matmul_walk.h"
#include "kernels/quant/dequantize.h"

namespace minfer::kernels {

// Loaders of sixteen weights or eight, for each stored type.
struct LoadF32 {
  static constexpr size_t kBytes = 4;
  template <class V>
  static inline typename V::Floats Load(const uint8_t* p) {
    return V::LoadFloats(p);
  }
  template <class V>
  static inline typename V::Half LoadHalf(const uint8_t* p) {
    return V::LoadHalfFloats(p);
  }
};
struct LoadF16 {
  static constexpr size_t kBytes = 2;
  template <class V>
  static inline typename V::Floats Load(const uint8_t* p) {
    return V::LoadHalves(p);
  }
  template <class V>
  static inline typename V::Half LoadHalf(const uint8_t* p) {
    return V::LoadHalfHalves(p);
  }
};

// sums[r * N + n] += the products of `count` values of weight row r and activation row n. Values
// past the last whole sixteen are padded with zeros, which add nothing. One activation row is too
// little work to hide the memory's latency, and several rows are streams that the processor's own
// prefetchers don't follow well: the bytes `ahead` of those in use are asked for, which doubles the
// speed of a matrix that is not in the caches.
template <class V, class Loader, int Rows, int N>
[[gnu::always_inline]] inline void AddProducts(const uint8_t* const* rows, const uint8_t* x,
                                               size_t stride, int64_t count, size_t ahead,
                                               typename V::Floats* sums) {
  typename V::Floats local[Rows * N];
#pragma GCC unroll 32
  for (int i = 0; i < Rows * N; ++i) local[i] = sums[i];
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    typename V::Floats values[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) values[n] = V::LoadFloats(x + n * stride + i * 4);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const typename V::Floats w = Loader::template Load<V>(rows[r] + i * Loader::kBytes);
      if constexpr (N == 1) V::Prefetch(rows[r] + i * Loader::kBytes + ahead);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) local[r * N + n] = V::FmaFloats(w, values[n], local[r * N + n]);
    }
  }
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    uint8_t padded_x[N][64] = {};
    for (int n = 0; n < N; ++n) std::memcpy(padded_x[n], x + n * stride + i * 4, rest * 4);
    for (int r = 0; r < Rows; ++r) {
      uint8_t padded[64] = {};
      std::memcpy(padded, rows[r] + i * Loader::kBytes, rest * Loader::kBytes);
      const typename V::Floats w = Loader::template Load<V>(padded);
      for (int n = 0; n < N; ++n) {
        local[r * N + n] = V::FmaFloats(w, V::LoadFloats(padded_x[n]), local[r * N + n]);
      }
    }
  }
#pragma GCC unroll 32
  for (int j = 0; j < Rows * N; ++j) sums[j] = local[j];
}

// The same for one half of each sixteen: values first to first + 7 of it.
template <class V, class Loader, int Rows, int N>
[[gnu::always_inline]] inline void AddProductsOfHalf(const uint8_t* const* rows, const uint8_t* x,
                                                     size_t stride, int64_t count, int64_t first,
                                                     typename V::Half* sums) {
  typename V::Half local[Rows * N];
#pragma GCC unroll 32
  for (int i = 0; i < Rows * N; ++i) local[i] = sums[i];
  const auto add = [&local](const uint8_t* const* w, const uint8_t* a, size_t a_stride) {
    typename V::Half values[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      values[n] = V::LoadHalfFloats(a + static_cast<size_t>(n) * a_stride);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const typename V::Half weights = Loader::template LoadHalf<V>(w[r]);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        local[r * N + n] = V::FmaHalf(weights, values[n], local[r * N + n]);
      }
    }
  };
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8_t* at[Rows];
    for (int r = 0; r < Rows; ++r) at[r] = rows[r] + (i + first) * Loader::kBytes;
    add(at, x + (i + first) * 4, stride);
  }
  if (i + first < count) {
    const auto rest = static_cast<size_t>(count - i - first < 8 ? count - i - first : 8);
    uint8_t padded_x[N][32] = {};
    uint8_t padded[Rows][32] = {};
    const uint8_t* at[Rows];
    for (int n = 0; n < N; ++n) {
      std::memcpy(padded_x[n], x + static_cast<size_t>(n) * stride + (i + first) * 4, rest * 4);
    }
    for (int r = 0; r < Rows; ++r) {
      std::memcpy(padded[r], rows[r] + (i + first) * Loader::kBytes, rest * Loader::kBytes);
      at[r] = padded[r];
    }
    add(at, padded_x[0], sizeof(padded_x[0]));
  }
#pragma GCC unroll 32
  for (int j = 0; j < Rows * N; ++j) sums[j] = local[j];
}

template <class V, class Loader>
struct FloatTile {
  static constexpr int kRows = V::kFloatRows;
  static constexpr int kColumns = V::kFloatColumns;

  template <int Rows, int N>
  static void Run(const MatMulArgs& args, int64_t row0, int64_t m0) {
    const uint8_t* rows[Rows];
    for (int r = 0; r < Rows; ++r) {
      rows[r] = static_cast<const uint8_t*>(args.weights) +
                static_cast<size_t>(row0 + r) * args.weight_row_bytes;
    }
    const uint8_t* x = static_cast<const uint8_t*>(args.activations) +
                       static_cast<size_t>(m0) * args.activation_row_bytes;
    typename V::Floats sums[Rows * N];
    for (int i = 0; i < Rows * N; ++i) sums[i] = V::ZeroFloats();
    if constexpr (V::kFloatHalves && N > 1) {
      typename V::Half low[Rows * N] = {};
      typename V::Half high[Rows * N] = {};
      AddProductsOfHalf<V, Loader, Rows, N>(rows, x, args.activation_row_bytes, args.k, 0, low);
      AddProductsOfHalf<V, Loader, Rows, N>(rows, x, args.activation_row_bytes, args.k, 8, high);
      for (int i = 0; i < Rows * N; ++i) sums[i] = V::Join(low[i], high[i]);
    } else {
      AddProducts<V, Loader, Rows, N>(rows, x, args.activation_row_bytes, args.k,
                                      Rows * args.weight_row_bytes, sums);
    }
    for (int r = 0; r < Rows; ++r) {
      for (int n = 0; n < N; ++n) {
        args.out[(m0 + n) * args.out_stride + row0 + r] = V::Sum(sums[r * N + n]);
      }
    }
  }
};

template <class V, class Loader>
void FloatMatMul(const MatMulArgs& args) {
  WalkTiles<FloatTile<V, Loader>>(args);
}

// Values decoded at a time (a multiple of every block and of sixteen), and activation rows that
// one decoding serves.
inline constexpr int64_t kDecodedValues = 256;
inline constexpr int64_t kDecodedColumns = 32;

// One weight row, decoded piece by piece, by up to kDecodedColumns activation rows.
template <class V>
void DecodedRow(const MatMulArgs& args, const ElementTraits& traits, int64_t row, int64_t m0,
                int64_t columns) {
  const uint8_t* weights =
      static_cast<const uint8_t*>(args.weights) + static_cast<size_t>(row) * args.weight_row_bytes;
  const uint8_t* x = static_cast<const uint8_t*>(args.activations) +
                     static_cast<size_t>(m0) * args.activation_row_bytes;
  typename V::Floats sums[kDecodedColumns];
  for (int64_t n = 0; n < columns; ++n) sums[n] = V::ZeroFloats();
  for (int64_t i = 0; i < args.k; i += kDecodedValues) {
    const int64_t count = args.k - i < kDecodedValues ? args.k - i : kDecodedValues;
    alignas(64) uint8_t decoded[kDecodedValues * 4];
    DequantizeRow(args.weight_type, weights + i / traits.block_elements * traits.block_bytes,
                  reinterpret_cast<float*>(decoded), count);
    const uint8_t* rows[1] = {decoded};
    int64_t n = 0;
    for (; n + 4 <= columns; n += 4) {
      AddProducts<V, LoadF32, 1, 4>(rows, x + n * args.activation_row_bytes + i * 4,
                                    args.activation_row_bytes, count, 0, sums + n);
    }
    for (; n < columns; ++n) {
      AddProducts<V, LoadF32, 1, 1>(rows, x + n * args.activation_row_bytes + i * 4,
                                    args.activation_row_bytes, count, 0, sums + n);
    }
  }
  for (int64_t n = 0; n < columns; ++n) {
    args.out[(m0 + n) * args.out_stride + row] = V::Sum(sums[n]);
  }
}

template <class V>
void DecodedMatMul(const MatMulArgs& args) {
  const ElementTraits& traits = *FindElementTraits(static_cast<int32_t>(args.weight_type));
  for (int64_t r = args.row_begin; r < args.row_end; ++r) {
    for (int64_t m = 0; m < args.m; m += kDecodedColumns) {
      const int64_t columns = args.m - m < kDecodedColumns ? args.m - m : kDecodedColumns;
      DecodedRow<V>(args, traits, r, m, columns);
    }
  }
}

}  // namespace minfer::kernels
