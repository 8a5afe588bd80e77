// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The block decoders behind DequantizeRow, one a type; each writes the values of one block.
#pragma once

#include "kernels/quant/blocks.h"

namespace minfer::kernels {

void DecodeBlock(const BlockQ4_0& block, float* out);
void DecodeBlock(const BlockQ4_1& block, float* out);
void DecodeBlock(const BlockQ5_0& block, float* out);
void DecodeBlock(const BlockQ5_1& block, float* out);
void DecodeBlock(const BlockQ8_0& block, float* out);
void DecodeBlock(const BlockIQ4_NL& block, float* out);
void DecodeBlock(const BlockMXFP4& block, float* out);

void DecodeBlock(const BlockQ2_K& block, float* out);
void DecodeBlock(const BlockQ3_K& block, float* out);
void DecodeBlock(const BlockQ4_K& block, float* out);
void DecodeBlock(const BlockQ5_K& block, float* out);
void DecodeBlock(const BlockQ6_K& block, float* out);
void DecodeBlock(const BlockIQ4_XS& block, float* out);

// Scale and min of sub-block j (0..7) of Q4_K and Q5_K, 6 bits each, from their 12 bytes.
struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};
ScaleMin UnpackScaleMin(const uint8_t* scales, int j);

// The values of the 4-bit codes of IQ4_NL and IQ4_XS.
extern const int8_t kIq4Values[16];

}  // namespace minfer::kernels
