// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A row of a table, decoded eight values a thread; an id out of range gives NaN.
#pragma once

#include "kernels/cuda/common/decode.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kRowThreads = 128;
inline constexpr int kRowValues = 8;  // a thread decodes

struct RowTable {
  const uint8_t* data = nullptr;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t k = 0;
};

// The values from i on.
template <ElementType type>
__device__ __forceinline__ void GetRowValues(const RowTable& table, int64_t id, int64_t i,
                                             float* row) {
  if (i >= table.k) return;
  float values[kRowValues];
  if (id >= 0 && id < table.rows) {
    DecodeEight<type>(table.data + id * table.row_bytes, table.k, i, values);
  } else {
#pragma unroll
    for (int v = 0; v < kRowValues; ++v) values[v] = __int_as_float(0x7fc00000);
  }
#pragma unroll
  for (int v = 0; v < kRowValues; ++v) {
    if (i + v < table.k) row[i + v] = values[v];
  }
}

}  // namespace minfer::kernels::cuda
