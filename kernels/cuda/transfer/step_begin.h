// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a step of few rows begins with, as one launch: its inputs from pinned memory to their places
// (scatter.h), the embeddings of its tokens (GetRows) and, where wanted, the RoPE table of its
// positions (RopeTable). Ids and positions are read from pinned memory too, so that none of the
// three waits for another. The bits are those of the launches apart.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/transfer/scatter.h"
#include "kernels/cuda/vector/vector.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

struct StepBeginArgs {
  ScatterArgs inputs;
  ElementType type = ElementType::kF32;  // of the table of embeddings
  const void* table = nullptr;
  int64_t table_rows = 0;
  int64_t k = 0;
  const int32_t* ids = nullptr;
  int64_t rows = 0;
  float* embeddings = nullptr;  // [rows, k]
  RopeAngles angles;
  const int32_t* positions = nullptr;  // of as many rows
  float* cos_sin = nullptr;            // nullptr: no table
};

// The first kernel of a step: it waits for none that ends while it starts.
KernelStatus StepBegin(const StepBeginArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
