// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of few rows of activations, quantised to 8 bits, with a quantised matrix (MMVQ): integer
// dot products, the weights read once for up to eight rows. Two families: dp4a, a warp a row of the
// matrix, and tensor cores with the weights streamed through shared memory.
//
// A row of quantised activations is k int8 values, then for each 32 of them a scale (f32) and the
// sums of the first and the last 16 (int16 each); value = scale * int8. It starts at a multiple of
// 16 bytes. More rows than one are interleaved for the streamed family: each 32 values of all rows,
// then their heads, eight rows or sixteen.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmvqMaxRows = 8;

// Whether the type has an integer dot product.
bool HasMmvq(ElementType type);

// Whether rows of k values can be streamed: their planes begin at multiples of 16 bytes.
bool StreamsMmvq(ElementType type, int64_t k);

// k: a multiple of 32.
int64_t QuantizedRowBytes(int64_t k);

// Columns that m rows take when they are interleaved, the residual ones included.
constexpr int InterleavedColumns(int64_t m, bool residual) {
  return m * (residual ? 2 : 1) <= 8 ? 8 : 16;
}
// Bytes of 32 values of a column, with their head.
inline constexpr int kInterleavedBytes = 40;
// Whether m rows are interleaved for the family.
constexpr bool IsInterleaved(bool streamed, int64_t m) { return streamed && m > 1; }
// Bytes of the quantised activations of a product.
int64_t QuantizedBytes(int64_t m, int64_t k, bool residual, bool streamed);

// Where a kernel puts rows of k values, k a multiple of 32, quantised.
struct PlaneTarget {
  void* out = nullptr;    // nullptr: nowhere
  int64_t row_bytes = 0;  // of rows that stand one after another
  int32_t columns = 0;    // of interleaved rows; 0: not interleaved
  bool residual = false;
};

// Rows that a kernel writes for m: those of absent columns are zeros.
inline int64_t PlaneRows(const PlaneTarget& target, int64_t m) {
  return target.columns == 0 ? m : target.columns / (target.residual ? 2 : 1);
}

PlaneTarget MakePlaneTarget(void* out, int64_t m, int64_t k, bool residual, bool streamed);

// Quantises m rows of k floats. With `residual`, two rows a row of x: the second holds what the
// first leaves out, and both added have the precision of 15 bits. A block of 32 with a value that
// is not finite gets the scale NaN and zeros. Columns without a row are zeros.
KernelStatus QuantizeRows(const float* x, int64_t m, int64_t k, const PlaneTarget& target,
                          KernelStream stream);

inline constexpr int kMmvqMaxParts = 3;

// One matrix and where its product goes.
struct MmvqPart {
  const void* weights = nullptr;  // n rows in the layout of row_layout.h
  int64_t n = 0;
  const float* bias = nullptr;  // n values added to each row, or nullptr
  float* out = nullptr;
  int64_t out_stride = 0;
  // Rows of n values added last, out_stride apart; nullptr, or the output itself. Only streamed.
  const float* add = nullptr;
};

// With a gate there are two parts of the same n, gate and up, and the result, in the place of the
// second, is act(gate) * up. Each part has the bits that it has alone.
enum class MmvqGate : int32_t { kNone, kSilu, kGelu };

// Activations that are the RMS norm of rows of k floats, quantised by the launch that multiplies
// them, with the bits of RmsNorm (vector.h). All begin at multiples of 16 bytes.
struct MmvqNorm {
  const float* x = nullptr;  // nullptr: the activations are given
  const float* weight = nullptr;
  float eps = 0.0f;
};
// The longest rows that a launch takes the norm of.
inline constexpr int64_t kMaxNormedColumns = 2048;

struct MmvqArgs {
  ElementType type = ElementType::kQ8_0;  // of all parts
  int64_t k = 0;
  const void* activations = nullptr;  // rows of QuantizedRowBytes(k), or interleaved
  MmvqNorm norm;                      // instead of these; only streamed, without residual rows
  int64_t m = 0;                      // rows of the result, 1 .. kMmvqMaxRows
  bool residual = false;              // two rows of activations a row of the result
  MmvqGate gate = MmvqGate::kNone;
  // Where the results of a gate go quantised, n a multiple of 32; their own place may be nullptr
  // then. Only streamed, rows of k values up to kMaxPlaneColumns.
  PlaneTarget planes;
  // Integer tensor cores, from 8.0 on; types and rows as StreamsMmvq says. Otherwise dp4a.
  bool streamed = false;
  int n_parts = 0;
  MmvqPart parts[kMmvqMaxParts];
};

// The longest rows of activations of a gate whose results one launch quantises.
inline constexpr int64_t kMaxPlaneColumns = 1024;

KernelStatus Mmvq(const MmvqArgs& args, KernelStream stream);

// Whether parts of both types go into one launch. Those that files mix in Q, K and V do.
bool MixesMmvq(ElementType a, ElementType b);
// Parts of several types, types[p] that of part p, each with the bits that it has alone: streamed,
// without norm, gate and residual rows. args.type is not read.
KernelStatus MmvqMixed(const MmvqArgs& args, const ElementType* types, KernelStream stream);

}  // namespace minfer::kernels::cuda
