// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of few rows of activations, quantised to 8 bits, with a quantised matrix (MMVQ): integer
// dot products of four values an instruction, the weights read once for up to eight rows.
//
// A row of quantised activations is k int8 values, then a scale (f32) and the sum of the values
// (int32) for each 32 of them; value = scale * int8. It starts at a multiple of 16 bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmvqMaxRows = 8;

// Whether the type has an integer dot product.
bool HasMmvq(ElementType type);

// k: a multiple of 32.
int64_t QuantizedRowBytes(int64_t k);

// Quantises m rows of k floats. With `residual`, two rows a row of x: the second holds what the
// first leaves out, and both added have the precision of 15 bits. A block of 32 with a value that
// is not finite gets the scale NaN and zeros.
KernelStatus QuantizeRows(const float* x, int64_t m, int64_t k, bool residual, void* out,
                          cudaStream_t stream);

inline constexpr int kMmvqMaxParts = 3;

// One matrix and where its product goes.
struct MmvqPart {
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  const float* bias = nullptr;  // n values added to each row, or nullptr
  float* out = nullptr;
  int64_t out_stride = 0;
};

// With a gate there are two parts of the same n, gate and up, and the result, in the place of the
// second, is act(gate) * up. Each part has the bits that it has alone.
enum class MmvqGate : int32_t { kNone, kSilu, kGelu };

struct MmvqArgs {
  ElementType type = ElementType::kQ8_0;  // of all parts
  int64_t k = 0;
  const void* activations = nullptr;  // rows of QuantizedRowBytes(k)
  int64_t m = 0;                      // rows of the result, 1 .. kMmvqMaxRows
  bool residual = false;              // two rows of activations a row of the result
  MmvqGate gate = MmvqGate::kNone;
  int n_parts = 0;
  MmvqPart parts[kMmvqMaxParts];
};

KernelStatus Mmvq(const MmvqArgs& args, cudaStream_t stream);

}  // namespace minfer::kernels::cuda
