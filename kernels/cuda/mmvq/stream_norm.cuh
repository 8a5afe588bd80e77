// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Activations of the streamed MMVQ that are the RMS norm of rows of floats: every block works them
// out for itself and keeps them, quantised, in shared memory. A warp takes 128 columns of all rows,
// as a warp of the norm's own kernel takes those of one row, so that the sums are the same.
#pragma once

#include "kernels/cuda/mmvq/quantized_row.cuh"
#include "kernels/cuda/mmvq/stream_copy.cuh"
#include "kernels/cuda/vector/norm.cuh"

namespace minfer::kernels::cuda {

inline constexpr int kNormColumns = 128;  // of a warp
inline constexpr int kNormWarps = static_cast<int>(kMaxNormedColumns) / kNormColumns;

template <int kRows>
struct NormedRows {
  float4 weight;

  // Before the kernels ahead are complete.
  __device__ __forceinline__ void LoadWeights(const StreamArgs& args, int warp, int lane) {
    const int i = warp * kWarp + lane;
    weight = i < static_cast<int>(args.k / 4) ? reinterpret_cast<const float4*>(args.norm.weight)[i]
                                              : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }

  // Returns when the planes are whole. sums: kRows x kNormWarps floats of shared memory.
  __device__ __forceinline__ void Quantize(const StreamArgs& args, const PlaneTarget& planes,
                                           float* sums, int warp, int lane) const {
    const int vectors = static_cast<int>(args.k / 4);
    const int parts = (vectors + kWarp - 1) / kWarp;
    const int i = warp * kWarp + lane;
    const bool inside = i < vectors;
    float4 x[kRows];
    if (warp < parts) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        x[r] = inside && r < args.rows
                   ? reinterpret_cast<const float4*>(args.norm.x)[r * vectors + i]
                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float sum = WarpSum(AddSquares(0.0f, x[r]));
        if (lane == 0) sums[r * kNormWarps + warp] = sum;
      }
    }
    __syncthreads();
    if (warp < parts) {
      // Lane r has the factor of row r.
      float squares = 0.0f;
      const float* of_row = sums + lane % kRows * kNormWarps;
#pragma unroll
      for (int w = 0; w < kNormWarps; ++w) {
        if (w < parts) squares += of_row[w];
      }
      const float factor = NormFactor(squares, static_cast<int>(args.k), args.norm.eps);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= args.rows) break;
        const float4 value = Normed(x[r], __shfl_sync(0xffffffffu, factor, r), weight);
        QuantizeFour(value, lane % 8, FindPlane(planes, args.k, r, 0, i / 8), inside);
      }
    }
    __syncthreads();
  }
};

}  // namespace minfer::kernels::cuda
