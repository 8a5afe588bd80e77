// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The block encoders behind QuantizeRow, one a type; each reads the values of one block.
#pragma once

#include "kernels/quant/blocks.h"

namespace minfer::kernels {

void EncodeBlock(const float* x, BlockQ4_0& block);
void EncodeBlock(const float* x, BlockQ4_1& block);
void EncodeBlock(const float* x, BlockQ5_0& block);
void EncodeBlock(const float* x, BlockQ5_1& block);
void EncodeBlock(const float* x, BlockQ8_0& block);
void EncodeBlock(const float* x, BlockIQ4_NL& block);
void EncodeBlock(const float* x, BlockMXFP4& block);

void EncodeBlock(const float* x, BlockQ2_K& block);
void EncodeBlock(const float* x, BlockQ3_K& block);
void EncodeBlock(const float* x, BlockQ4_K& block);
void EncodeBlock(const float* x, BlockQ5_K& block);
void EncodeBlock(const float* x, BlockQ6_K& block);
void EncodeBlock(const float* x, BlockIQ4_XS& block);

// The code in IQ4_NL and IQ4_XS whose value is nearest.
uint8_t NearestIq4Code(float value);
// The scale of 32 values in either.
float SearchIq4Scale(const float* x);

}  // namespace minfer::kernels
