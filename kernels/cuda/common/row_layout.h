// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How rows of a stored weight lie on the device. The values and their bits are those of the file;
// parts of a block are moved so that threads read whole aligned words:
//
//   F32 F16 BF16               as stored
//   blocks of 32 values        planes a row: all quants, then all high bits, then all scales (and
//                              mins), so that neighbouring threads read neighbouring 16 bytes
//   Q2_K Q4_K Q5_K IQ4_XS      as stored (84, 144, 176, 136 bytes)
//   Q3_K, Q6_K                 as stored, padded from 110 to 112 and from 210 to 224 bytes
//
// A row starts at a multiple of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

// True for the types that the kernels of this folder read.
bool ReadsType(ElementType type);

// Bytes of a row of k values, a multiple of the type's block; 0 for a type that is not read.
int64_t WeightRowBytes(ElementType type, int64_t k);

// Moves one row from its place in the file to the layout of the device; `to` has WeightRowBytes.
KernelStatus PackWeightRow(ElementType type, int64_t k, const uint8_t* from, uint8_t* to);

}  // namespace minfer::kernels::cuda
