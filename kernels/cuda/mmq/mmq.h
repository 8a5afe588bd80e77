// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of 2 to 64 rows of activations, quantised to 8 bits, with a quantised matrix on the
// integer tensor cores (MMQ), from compute capability 7.5 on. The weights are read once for all
// rows. A row's result has the same bits whatever the number of rows beside it.
//
// Activations are quantised as for MMVQ (mmvq.h) but lie as the tensor cores take them: for each
// eight rows and 256 values of k, 2,560 bytes, k filled up with zeros:
//
//   0      pair j of blocks of 32, lane l: 16 bytes; of row l / 4, values 4 (l % 4) .. and 16 +
//          4 (l % 4) .. of block 2 j, then of block 2 j + 1
//   2048   scales (f32): lane % 4, block, the two rows 2 (lane % 4) and the next
//   2304   scale * sum of the int8 (f32): lane l: of row l / 4, blocks l % 4 and 4 + l % 4
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

inline constexpr int kMmqMaxRows = 64;

// Whether there is a kernel for rows of k weights.
bool HasMmq(ElementType type, int64_t k);

// Bytes of m rows; with `residual`, of what the first rounding leaves out as well.
int64_t MmqActivationBytes(int64_t m, int64_t k, bool residual);

// Quantises m rows of k floats; what is not finite is treated as QuantizeRows does. Rows from there
// to the end of a tile of eight become zeros.
KernelStatus QuantizeTiles(const float* x, int64_t m, int64_t k, bool residual, void* out,
                           cudaStream_t stream);

// Matrices with few rows split k over blocks: bytes of scratch for the sums of m rows with one.
uint64_t MmqPartialBytes(int64_t m, int64_t n, int64_t k);

struct MmqScratch {
  void* partials = nullptr;  // at least the sum of MmqPartialBytes over the parts
  uint64_t partial_bytes = 0;
  int32_t shared_opt_in_bytes = 0;  // shared memory that a block may ask for
  // Bytes come to shared memory by cp.async (from 8.0 on), otherwise through registers.
  bool raw = true;
  // The parts' weights are copies in the layout of mmq_copy.h; only with `raw`.
  bool copies = false;
};

// As Mmvq, with up to kMmqMaxRows rows, activations by QuantizeTiles. kUnsupportedType where a
// block may not have the shared memory that it needs.
KernelStatus Mmq(const MmvqArgs& args, const MmqScratch& scratch, KernelStream stream);

}  // namespace minfer::kernels::cuda
