// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Operations that read and write each value once. An output may be an input of the same size.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer::kernels::cuda {

enum class Elementwise : int32_t {
  kAdd,      // a + b
  kMul,      // a * b
  kAddBias,  // a + b, b one row
  kScale,    // a * factor
  kSoftcap,  // factor * tanh(a / factor)
  kSilu,     // silu(a)
  kGelu,     // gelu(a)
  kSiluMul,  // silu(a) * b
  kGeluMul,  // gelu(a) * b
};

struct ElementwiseArgs {
  const float* a = nullptr;
  const float* b = nullptr;
  float* out = nullptr;
  int64_t count = 0;
  int64_t cols = 0;  // kAddBias: values of a row
  float factor = 1.0f;
};

KernelStatus RunElementwise(Elementwise op, const ElementwiseArgs& args, KernelStream stream);

// Each row of `width` values: x / sqrt(mean(x^2) + eps) * weight; quantised too where planes are
// given. Then, where width is at most kMaxPlaneNorm and all is aligned to 16 bytes, `out` may be
// nullptr.
inline constexpr int64_t kMaxPlaneNorm = 16384;
KernelStatus RmsNorm(const float* x, const float* weight, float* out, int64_t rows, int64_t width,
                     float eps, KernelStream stream, const PlaneTarget& planes = PlaneTarget());

// Each row: (x - mean) / sqrt(variance + eps) * weight + bias; bias may be nullptr.
KernelStatus LayerNorm(const float* x, const float* weight, const float* bias, float* out,
                       int64_t rows, int64_t width, float eps, KernelStream stream);

inline constexpr int kMaxRopePairs = 256;

// Angle of pair i at position p: p * per_position[i]. Travels as a kernel parameter.
struct RopeAngles {
  double per_position[kMaxRopePairs] = {};
  double magnitude = 1.0;
  int32_t pairs = 0;
};

// cos and sin, times the magnitude, of each pair: rows of 2 * pairs values.
KernelStatus RopeTable(const RopeAngles& angles, const int32_t* positions, int64_t rows, float* out,
                       KernelStream stream);

struct RopeArgs {
  const float* x = nullptr;  // rows of n_heads * head_dim values
  const float* cos_sin = nullptr;
  float* out = nullptr;
  int64_t rows = 0;
  int32_t n_heads = 0;
  int32_t head_dim = 0;
  int32_t rope_dim = 0;
  bool neox = false;
};

KernelStatus Rope(const RopeArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
