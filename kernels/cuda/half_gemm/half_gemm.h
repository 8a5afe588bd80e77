// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of many rows of halves with matrices of halves on tensor cores, sums in f32 (mma
// m16n8k16, from compute capability 8.0 on). The matrices are F16 weights as they lie, or decoded
// to scratch for the call, up to three side by side; gate and up may be interleaved, and then the
// activation is applied on the way out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

// Whether weights of the type can be decoded to halves. F32 is not: it would lose bits.
bool HasHalfDecoder(ElementType type);

// Rows [first, first + count) of a weight in the layout of row_layout.h, as halves; what is larger
// than the largest half becomes it.
struct DecodeRowsArgs {
  ElementType type = ElementType::kQ8_0;
  const void* weights = nullptr;
  int64_t k = 0;
  int64_t first = 0;
  int64_t count = 0;
  void* out = nullptr;  // rows of k halves
  // Row i goes to i, or, with a group, to (i / 8) * 16 + group_offset + i % 8 (0: gate, 8: up).
  bool interleaved = false;
  int group_offset = 0;
};

KernelStatus DecodeRowsToHalf(const DecodeRowsArgs& args, cudaStream_t stream);

inline constexpr int kHalfGemmMaxParts = 3;

// Columns [first, first + n) of the product; first: a multiple of 8, and columns outside of those
// computed are left alone.
struct HalfGemmPart {
  int64_t first = 0;
  int64_t n = 0;
  const float* bias = nullptr;
  float* out = nullptr;
  int64_t out_stride = 0;
};

// With a gate, the rows of w are interleaved by eights, gate before up, and the only part is the
// result: act(gate) * up, half as wide as w has rows.
enum class HalfGemmGate : int32_t { kNone, kSilu, kGelu };

struct HalfGemmArgs {
  const void* x = nullptr;  // m rows of k halves
  int64_t m = 0;
  int64_t k = 0;            // a multiple of 8
  const void* w = nullptr;  // `columns` rows, w_stride halves apart (a multiple of 8)
  int64_t columns = 0;
  int64_t w_stride = 0;
  HalfGemmGate gate = HalfGemmGate::kNone;
  int n_parts = 0;
  HalfGemmPart parts[kHalfGemmMaxParts];
  // Scratch for sums over parts of k; what HalfGemmPartialBytes says is always enough.
  void* partials = nullptr;
  uint64_t partial_bytes = 0;
  int32_t multiprocessors = 0;      // of the device
  int32_t shared_opt_in_bytes = 0;  // shared memory that a block may ask for
};

// What a product of this shape can use at most; it grows with both.
uint64_t HalfGemmPartialBytes(int64_t m, int64_t columns);

KernelStatus HalfGemm(const HalfGemmArgs& args, KernelStream stream);

// Where there is hopper_gemm: whether it is faster. It has larger tiles, and small matrices too few
// of them.
bool PrefersHopperGemm(const HalfGemmArgs& args);

}  // namespace minfer::kernels::cuda
