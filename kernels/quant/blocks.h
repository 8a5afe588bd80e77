// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The blocks of the quantised GGUF types, byte for byte as they lie in a file. Blocks have no
// alignment there, so code copies a block (or its fields) out before it reads numbers.
#pragma once

#include <cstdint>

namespace minfer::kernels {

inline constexpr int kBlock = 32;        // values in a block
inline constexpr int kSuperBlock = 256;  // values in a super-block

// Fields named `scale` and `min` are halves unless the type says otherwise.

struct BlockQ4_0 {
  uint16_t scale;
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

struct BlockQ4_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

struct BlockQ5_0 {
  uint16_t scale;
  uint8_t high[4];  // bit i: bit 4 of element i
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

struct BlockQ5_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t high[4];
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

struct BlockQ8_0 {
  uint16_t scale;
  int8_t quants[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ2_K {
  uint8_t scales[16];  // low half: scale, high half: min, of 16 values
  uint8_t quants[64];
  uint16_t scale;
  uint16_t min;
};
static_assert(sizeof(BlockQ2_K) == 84);

struct BlockQ3_K {
  uint8_t high[32];
  uint8_t quants[64];
  uint8_t scales[12];  // sixteen 6-bit numbers
  uint16_t scale;
};
static_assert(sizeof(BlockQ3_K) == 110);

struct BlockQ4_K {
  uint16_t scale;
  uint16_t min;
  uint8_t scales[12];  // eight 6-bit scales and mins
  uint8_t quants[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

struct BlockQ5_K {
  uint16_t scale;
  uint16_t min;
  uint8_t scales[12];
  uint8_t high[32];
  uint8_t quants[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

struct BlockQ6_K {
  uint8_t low[128];
  uint8_t high[64];
  int8_t scales[16];
  uint16_t scale;
};
static_assert(sizeof(BlockQ6_K) == 210);

struct BlockIQ4_NL {
  uint16_t scale;
  uint8_t quants[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

struct BlockIQ4_XS {
  uint16_t scale;
  uint16_t scales_high;
  uint8_t scales_low[4];
  uint8_t quants[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

struct BlockMXFP4 {
  uint8_t exponent;
  uint8_t quants[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

struct BlockNVFP4 {   // 64 values
  uint8_t scales[4];  // E4M3 without sign, one for 16 values
  uint8_t quants[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

struct BlockTQ1_0 {
  uint8_t quants[48];  // five ternary digits a byte
  uint8_t high[4];     // four
  uint16_t scale;
};
static_assert(sizeof(BlockTQ1_0) == 54);

struct BlockTQ2_0 {
  uint8_t quants[64];
  uint16_t scale;
};
static_assert(sizeof(BlockTQ2_0) == 66);

// The rest take their values from grids (iq_grids.h): groups of eight values, or of four in IQ3.

struct BlockIQ1_S {
  uint16_t scale;
  uint8_t quants[32];
  uint16_t high[8];  // of 32 values: four times three index bits, a scale, and the delta's sign
};
static_assert(sizeof(BlockIQ1_S) == 50);

struct BlockIQ1_M {
  uint8_t quants[32];
  uint8_t high[16];    // of a group: three index bits and the delta's sign
  uint16_t scales[4];  // four times three bits, and a quarter of the half `scale`
};
static_assert(sizeof(BlockIQ1_M) == 56);

struct BlockIQ2_XXS {
  uint16_t scale;
  uint8_t quants[64];  // of 32 values: four indices, then four times seven sign bits and a scale
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

struct BlockIQ2_XS {
  uint16_t scale;
  uint16_t quants[32];  // nine bits of index, seven of signs
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

struct BlockIQ2_S {
  uint16_t scale;
  uint8_t quants[32];
  uint8_t signs[32];
  uint8_t high[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

struct BlockIQ3_XXS {
  uint16_t scale;
  uint8_t quants[64];
  uint8_t signs[32];  // of 32 values: four times seven sign bits and a scale
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

struct BlockIQ3_S {
  uint16_t scale;
  uint8_t quants[64];
  uint8_t high[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

}  // namespace minfer::kernels
