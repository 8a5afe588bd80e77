// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix product with BF16 weights. Activations are rounded to BF16 too: their products are
// exact in f32, and AVX512_BF16 multiplies and adds two a lane.
//
// Each output element has sixteen partial sums; sum l takes values 2 l + 1 and 2 l, in that order,
// of each thirty-two, and one fixed tree adds them up (V::SumPairs). Numbers below 2^-126 count as
// zero, as operands and as results. That is what VDPBF16PS does whatever MXCSR says; the other
// vector units have MXCSR say it (V::FlushDenormals), and plain C++ does it by hand, so that all
// give the same bits.
//
// V::PairSums holds the sums of V::kPairBytes bytes of a row, all sixteen or a part of them. A tile
// of several activation rows takes one part after the other, so that its sums fit the registers.
#pragma once

#include <cstring>

#include "kernels/cpu/matmul_check.h"
#include "kernels/cpu/matmul_walk.h"

namespace minfer::kernels {

// Bytes of thirty-two values. Rows of activations are padded with zeros to a multiple of it.
inline constexpr size_t kPairStepBytes = 64;

// Adds the products of V::kPairBytes bytes of Rows weight rows and N activation rows to sums.
template <class V, int Rows, int N>
[[gnu::always_inline]] inline void AddPairs(const uint8_t* const* rows, size_t offset,
                                            const uint8_t* x, size_t stride,
                                            typename V::PairSums* sums) {
  if constexpr (V::kPairProducts) {
    typename V::Pairs values[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) values[n] = V::LoadPairs(x + n * stride);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const typename V::Pairs w = V::LoadPairs(rows[r] + offset);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) sums[r * N + n] = V::DotPairs(sums[r * N + n], w, values[n]);
    }
  } else {
    typename V::PairSums values[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) values[n] = V::OddOfPairs(x + n * stride);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const typename V::PairSums w = V::OddOfPairs(rows[r] + offset);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) sums[r * N + n] = V::FmaPairs(w, values[n], sums[r * N + n]);
    }
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) values[n] = V::EvenOfPairs(x + n * stride);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const typename V::PairSums w = V::EvenOfPairs(rows[r] + offset);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) sums[r * N + n] = V::FmaPairs(w, values[n], sums[r * N + n]);
    }
  }
}

// Parts of the sixteen sums, from the one at byte `first` of each step on, over whole rows of k
// values. sums[p] are those of part p. As in matmul_float.h, a single activation row asks for the
// bytes `ahead` of those in use.
template <class V, int Rows, int N, int Parts>
[[gnu::always_inline]] inline void AddPairRows(const uint8_t* const* rows, const uint8_t* x,
                                               size_t stride, int64_t k, size_t first, size_t ahead,
                                               typename V::PairSums (*sums)[Rows * N]) {
  typename V::PairSums local[Parts][Rows * N];
#pragma GCC unroll 8
  for (int p = 0; p < Parts; ++p) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows * N; ++i) local[p][i] = V::ZeroPairSums();
  }
  const auto bytes = static_cast<size_t>(k) * 2;
  size_t at = 0;
  for (; at + kPairStepBytes <= bytes; at += kPairStepBytes) {
#pragma GCC unroll 8
    for (int p = 0; p < Parts; ++p) {
      const size_t offset = at + first + p * V::kPairBytes;
      AddPairs<V, Rows, N>(rows, offset, x + offset, stride, local[p]);
    }
    if constexpr (N == 1) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) V::Prefetch(rows[r] + at + ahead);
    }
  }
  if (at < bytes) {
    uint8_t padded[Rows][kPairStepBytes] = {};
    const uint8_t* ends[Rows];
    for (int r = 0; r < Rows; ++r) {
      std::memcpy(padded[r], rows[r] + at, bytes - at);
      ends[r] = padded[r];
    }
    for (int p = 0; p < Parts; ++p) {
      const size_t offset = first + p * V::kPairBytes;
      AddPairs<V, Rows, N>(ends, offset, x + at + offset, stride, local[p]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < Parts; ++p) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows * N; ++i) sums[p][i] = local[p][i];
  }
}

template <class V>
struct BFloat16Tile {
  static constexpr int kRows = V::kPairRows;
  static constexpr int kColumns = V::kPairColumns;
  static constexpr int kParts = kPairStepBytes / V::kPairBytes;

  template <int Rows, int N>
  static void Run(const MatMulArgs& args, int64_t row0, int64_t m0) {
    const size_t stride = args.activation_row_bytes;
    const size_t ahead = Rows * args.weight_row_bytes;
    const uint8_t* rows[Rows];
    for (int r = 0; r < Rows; ++r) {
      rows[r] = static_cast<const uint8_t*>(args.weights) +
                static_cast<size_t>(row0 + r) * args.weight_row_bytes;
    }
    const uint8_t* x =
        static_cast<const uint8_t*>(args.activations) + static_cast<size_t>(m0) * stride;
    typename V::PairSums sums[kParts][Rows * N];
    if constexpr (N == 1) {
      AddPairRows<V, Rows, N, kParts>(rows, x, stride, args.k, 0, ahead, sums);
    } else {
      for (int p = 0; p < kParts; ++p) {
        AddPairRows<V, Rows, N, 1>(rows, x, stride, args.k, p * V::kPairBytes, ahead, sums + p);
      }
    }
    for (int r = 0; r < Rows; ++r) {
      for (int n = 0; n < N; ++n) {
        typename V::PairSums all[kParts];
        for (int p = 0; p < kParts; ++p) all[p] = sums[p][r * N + n];
        args.out[(m0 + n) * args.out_stride + row0 + r] = V::SumPairs(all);
      }
    }
  }
};

// Not inline: the arithmetic must not leave the scope that flushes.
template <class V>
[[gnu::noinline]] void BFloat16Tiles(const MatMulArgs& args) {
  WalkTiles<BFloat16Tile<V>>(args);
}

template <class V>
void BFloat16MatMul(const MatMulArgs& args) {
  const typename V::FlushDenormals flush;
  BFloat16Tiles<V>(args);
}

}  // namespace minfer::kernels
