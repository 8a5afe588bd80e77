// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Copies of weights that MMQ alone reads, kept beside the stored ones where a lever asks for it:
// more bytes, less to unpack, the same products bit for bit. A unit of 256 values is
//
//   Q6_K   288 bytes: the codes less 32 as int8, in order; 16 scales (int8); d (half)
//   Q4_K   176 bytes: the 128 bytes of nibbles; eight scales (f32), each d times its six bits;
//          eight mins, a byte each; dmin (half)
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

// Bytes of a row of k values; 0 for a type that has no copy, or rows that MMQ does not take.
int64_t MmqCopyRowBytes(ElementType type, int64_t k);

// One row from its place in the file; `to` has MmqCopyRowBytes.
KernelStatus PackMmqCopyRow(ElementType type, int64_t k, const uint8_t* from, uint8_t* to);

}  // namespace minfer::kernels::cuda
