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

}  // namespace minfer::kernels
