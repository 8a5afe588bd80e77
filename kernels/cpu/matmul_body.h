// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix products of one ISA unit: walks the tiles. See matmul_tiles.h, matmul_float.h
// and matmul_bf16.h.
#pragma once

#include "kernels/cpu/matmul_bf16.h"
#include "kernels/cpu/matmul_float.h"
#include "kernels/cpu/matmul_quantize.h"
#include "kernels/cpu/matmul_tiles_256.h"
#include "kernels/cpu/matmul_tiles_32.h"

namespace minfer::kernels {

// Bytes of activations that are run against all weight rows before the next ones are: they stay in
// the second-level cache (from 512 KiB up) while the weights pass by.
inline constexpr size_t kActivationChunkBytes = 192 * 1024;

// `valid` of the V::kRows weight rows from row0 exist; N activation rows from m0. ahead: how far
// away the weights lie that will be wanted after these, or 0.
template <class V, class Type, int N>
void QuantizedTile(const MatMulArgs& args, const TileRows<V>& rows, int64_t row0, int valid,
                   int64_t m0, size_t ahead) {
  const size_t stride = args.activation_row_bytes;
  const uint8_t* a =
      static_cast<const uint8_t*>(args.activations) + static_cast<size_t>(m0) * stride;
  typename V::F32 sums[N];
#pragma GCC unroll 16
  for (int n = 0; n < N; ++n) sums[n] = V::ZeroF32();
  const auto blocks = static_cast<size_t>(args.k / Type::kValues);
  size_t b = 0;
  using Few = FewRows<V, Type>;
  if constexpr (N <= Few::kColumns) {
#pragma GCC unroll 1
    for (; b + Few::kBlocks <= blocks; b += Few::kBlocks) {
      Few::template Add<N>(rows, b * Type::kWeightBytes, a + b * Type::kActivationBytes, stride,
                           sums, ahead);
    }
    if (Few::kBlocks == 1) b = blocks;
  }
#pragma GCC unroll 1
  for (; b < blocks; ++b) {
    Type::template Add<V, N>(rows, b * Type::kWeightBytes, a + b * Type::kActivationBytes, stride,
                             sums, ahead);
  }
#pragma GCC unroll 16
  for (int n = 0; n < N; ++n) {
    V::Store(args.out + (m0 + n) * args.out_stride + row0, sums[n], valid);
  }
}

// The tile of `columns` (1 to N) activation rows.
template <class V, class Type, int N>
inline void QuantizedTileOf(const MatMulArgs& args, const TileRows<V>& rows, int64_t row0,
                            int valid, int64_t m0, int64_t columns, size_t ahead) {
  if constexpr (N > 1) {
    if (columns < N) {
      QuantizedTileOf<V, Type, N - 1>(args, rows, row0, valid, m0, columns, ahead);
      return;
    }
  }
  QuantizedTile<V, Type, N>(args, rows, row0, valid, m0, ahead);
}

template <class V, class Type>
void QuantizedMatMul(const MatMulArgs& args) {
  const auto fitting =
      static_cast<int64_t>(kActivationChunkBytes / (args.activation_row_bytes + 1));
  const int64_t chunk = fitting / V::kColumns * V::kColumns + V::kColumns;
  // Past the last row too: the next call is likely to take the rows that follow, and a tile that
  // nobody asked for takes several times as long.
  const size_t next = V::kRows * args.weight_row_bytes;
  for (int64_t m_begin = 0; m_begin < args.m; m_begin += chunk) {
    const int64_t m_end = args.m - m_begin < chunk ? args.m : m_begin + chunk;
    for (int64_t r = args.row_begin; r < args.row_end; r += V::kRows) {
      const int64_t left = args.row_end - r;
      const int valid = left < V::kRows ? static_cast<int>(left) : V::kRows;
      TileRows<V> rows;
      for (int i = 0; i < V::kRows; ++i) {
        rows.row[i] = static_cast<const uint8_t*>(args.weights) +
                      static_cast<size_t>(r + (i < valid ? i : valid - 1)) * args.weight_row_bytes;
      }
      for (int64_t m = m_begin; m < m_end; m += V::kColumns) {
        const int64_t columns = m_end - m < V::kColumns ? m_end - m : V::kColumns;
        QuantizedTileOf<V, Type, V::kColumns>(args, rows, r, valid, m, columns,
                                              m == m_begin ? next : 0);
      }
    }
  }
}

template <class V>
KernelStatus MatMul(const MatMulArgs& args) {
  const KernelStatus status = CheckMatMul(args);
  if (status != KernelStatus::kOk) return status;
  switch (args.weight_type) {
    case ElementType::kF32:
      FloatMatMul<V, LoadF32>(args);
      break;
    case ElementType::kF16:
      FloatMatMul<V, LoadF16>(args);
      break;
    case ElementType::kBF16:
      BFloat16MatMul<V>(args);
      break;
    case ElementType::kQ4_0:
      QuantizedMatMul<V, Tile32<FormatQ4_0>>(args);
      break;
    case ElementType::kQ4_1:
      QuantizedMatMul<V, Tile32<FormatQ4_1>>(args);
      break;
    case ElementType::kQ5_0:
      QuantizedMatMul<V, Tile32<FormatQ5_0>>(args);
      break;
    case ElementType::kQ5_1:
      QuantizedMatMul<V, Tile32<FormatQ5_1>>(args);
      break;
    case ElementType::kQ8_0:
      QuantizedMatMul<V, Tile32<FormatQ8_0>>(args);
      break;
    case ElementType::kIQ4_NL:
      QuantizedMatMul<V, Tile32<FormatIQ4_NL>>(args);
      break;
    case ElementType::kMXFP4:
      QuantizedMatMul<V, Tile32<FormatMXFP4>>(args);
      break;
    case ElementType::kQ2_K:
      QuantizedMatMul<V, Tile16s<FormatQ2_K>>(args);
      break;
    case ElementType::kQ3_K:
      QuantizedMatMul<V, Tile16s<FormatQ3_K>>(args);
      break;
    case ElementType::kQ6_K:
      QuantizedMatMul<V, Tile16s<FormatQ6_K>>(args);
      break;
    case ElementType::kQ4_K:
      QuantizedMatMul<V, TileScaleMin<BlockQ4_K>>(args);
      break;
    case ElementType::kQ5_K:
      QuantizedMatMul<V, TileScaleMin<BlockQ5_K>>(args);
      break;
    case ElementType::kIQ4_XS:
      QuantizedMatMul<V, TileIQ4_XS>(args);
      break;
    default:
      DecodedMatMul<V>(args);
      break;
  }
  return KernelStatus::kOk;
}

template <class V>
constexpr MatMulKernels MatMulKernelsOf() {
  return {.activation_format = ActivationFormatFor,
          .activation_row_bytes = ActivationRowBytes,
          .quantize_row = QuantizeActivations<V>,
          .matmul = MatMul<V>,
          .has_fast_dot = HasFastDot};
}

}  // namespace minfer::kernels
