// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Gathers of rows.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

// Rows `ids` of a matrix of table_rows rows of k values (layout of row_layout.h), decoded to f32.
// An id out of range gives a row of NaN.
KernelStatus GetRows(ElementType type, const void* table, int64_t table_rows, int64_t k,
                     const int32_t* ids, int64_t rows, float* out, KernelStream stream);

// The same of a matrix of floats.
KernelStatus SelectRows(const float* x, int64_t x_rows, int64_t cols, const int32_t* ids,
                        int64_t rows, float* out, KernelStream stream);

}  // namespace minfer::kernels::cuda
