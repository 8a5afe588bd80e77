// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A thread's words of a piece.
#pragma once

#include "kernels/cuda/transfer/scatter.h"

namespace minfer::kernels::cuda {

// Blocks of a piece; reads over the bus are slow one by one, so many are under way.
inline constexpr int64_t kMaxScatterBlocks = 16;

__device__ __forceinline__ void CopyWords(const ScatterPiece& piece, int64_t first, int64_t step) {
  for (int64_t i = first; i < piece.words; i += step) piece.to[i] = piece.from[i];
}

}  // namespace minfer::kernels::cuda
