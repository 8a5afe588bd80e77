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
void DecodeBlock(const BlockNVFP4& block, float* out);

void DecodeBlock(const BlockQ2_K& block, float* out);
void DecodeBlock(const BlockQ3_K& block, float* out);
void DecodeBlock(const BlockQ4_K& block, float* out);
void DecodeBlock(const BlockQ5_K& block, float* out);
void DecodeBlock(const BlockQ6_K& block, float* out);
void DecodeBlock(const BlockIQ4_XS& block, float* out);
void DecodeBlock(const BlockTQ1_0& block, float* out);
void DecodeBlock(const BlockTQ2_0& block, float* out);
void DecodeBlock(const BlockIQ1_S& block, float* out);
void DecodeBlock(const BlockIQ1_M& block, float* out);
void DecodeBlock(const BlockIQ2_XXS& block, float* out);
void DecodeBlock(const BlockIQ2_XS& block, float* out);
void DecodeBlock(const BlockIQ2_S& block, float* out);
void DecodeBlock(const BlockIQ3_XXS& block, float* out);
void DecodeBlock(const BlockIQ3_S& block, float* out);

// Scale and min of sub-block j (0..7) of Q4_K and Q5_K, 6 bits each, from their 12 bytes.
struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};
ScaleMin UnpackScaleMin(const uint8_t* scales, int j);

// Scale of sub-block j (0..15) of Q3_K from its 12 bytes: -32 to 31.
int UnpackQ3Scale(const uint8_t* scales, int j);

// The values of the 4-bit codes of IQ4_NL and IQ4_XS.
extern const int8_t kIq4Values[16];

// Twice the E2M1 values, which MXFP4 and NVFP4 have as codes.
extern const int8_t kE2M1Doubled[16];

// The factor of a MXFP4 block whose values are kE2M1Doubled: half of 2^(exponent - 127).
float MxScale(uint8_t exponent);

}  // namespace minfer::kernels
