// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Small pieces of pinned host memory to their places, all by one launch: a step has some eight
// inputs of a few kilobytes, and a copy of each would cost more than what they hold.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"

namespace minfer::kernels::cuda {

inline constexpr int kMaxScatterPieces = 16;

struct ScatterPiece {
  uint32_t* to = nullptr;
  const uint32_t* from = nullptr;  // pinned, and seen by the device
  int64_t words = 0;
  friend bool operator==(const ScatterPiece&, const ScatterPiece&) = default;
};

struct ScatterArgs {
  ScatterPiece pieces[kMaxScatterPieces];
  int32_t n_pieces = 0;
  friend bool operator==(const ScatterArgs&, const ScatterArgs&) = default;
};

KernelStatus Scatter(const ScatterArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
