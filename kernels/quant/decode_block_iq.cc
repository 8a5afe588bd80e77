// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The types whose values come from grids. All products are exact in f32: a half has 11 bits, and
// what it is multiplied by has 13 at most.
#include <bit>
#include <cstring>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/half.h"
#include "kernels/quant/iq_grids.h"

namespace minfer::kernels {
namespace {

constexpr float kIq2Values[4] = {8.0f, 25.0f, 43.0f, 0.0f};
constexpr float kIq3XxsValues[8] = {4.0f, 12.0f, 20.0f, 28.0f, 36.0f, 44.0f, 52.0f, 62.0f};
constexpr float kIq3SValues[8] = {1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 11.0f, 13.0f, 15.0f};

// Eight signs from seven bits: the eighth makes the number of set bits even.
uint32_t EvenSigns(uint32_t seven) {
  return seven | (static_cast<uint32_t>(std::popcount(seven)) & 1u) << 7;
}

// `count` values of a grid entry with codes of `bits` bits; signs: bit i set negates value i.
template <int Bits, int Count>
void DecodeEntry(uint32_t entry, const float* values, uint32_t signs, float factor, float* out) {
  for (int i = 0; i < Count; ++i) {
    const float value = factor * values[(entry >> (Bits * i)) & ((1u << Bits) - 1u)];
    out[i] = ((signs >> i) & 1u) != 0 ? -value : value;
  }
}

// Eight values of IQ3 from two entries.
void DecodeIq3(const uint16_t* grid, uint32_t first, uint32_t second, const float* values,
               uint32_t signs, float factor, float* out) {
  DecodeEntry<3, 4>(grid[first], values, signs, factor, out);
  DecodeEntry<3, 4>(grid[second], values, signs >> 4, factor, out + 4);
}

// Eight values of IQ1: the grid's and 1/8 more or less.
void DecodeIq1(uint32_t index, bool below, float factor, float* out) {
  const float delta = below ? -0.125f : 0.125f;
  const float values[4] = {-1.0f + delta, delta, 1.0f + delta, 0.0f};
  DecodeEntry<2, 8>(kGridIq1[index], values, 0, factor, out);
}

uint32_t Nibble(const uint8_t* bytes, int i) {
  return static_cast<uint32_t>(bytes[i / 2] >> (4 * (i % 2))) & 15u;
}

uint32_t LoadDword(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

void DecodeBlock(const BlockIQ1_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {  // groups of eight
    const uint32_t high = block.high[k / 4];
    const float factor = scale * static_cast<float>(2 * ((high >> 12) & 7u) + 1);
    const uint32_t index = block.quants[k] | ((high >> (3 * (k % 4))) & 7u) << 8;
    DecodeIq1(index, (high & 0x8000u) != 0, factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ1_M& block, float* out) {
  uint32_t half = 0;
  for (int i = 0; i < 4; ++i) half |= static_cast<uint32_t>(block.scales[i] >> 12) << (4 * i);
  const float scale = HalfToFloat(static_cast<uint16_t>(half));
  for (int k = 0; k < 32; ++k) {
    const uint32_t scale_bits = block.scales[k / 8] >> (3 * (k / 2 % 4));
    const float factor = scale * static_cast<float>(2 * (scale_bits & 7u) + 1);
    const uint32_t high = Nibble(block.high, k);
    DecodeIq1(block.quants[k] | (high & 7u) << 8, (high & 8u) != 0, factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ2_XXS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {
    const uint8_t* part = block.quants + 8 * (k / 4);
    const uint32_t bits = LoadDword(part + 4);
    const float factor = scale * (0.5f + static_cast<float>(bits >> 28)) * 0.25f;
    const uint32_t signs = EvenSigns((bits >> (7 * (k % 4))) & 127u);
    DecodeEntry<2, 8>(kGridIq2Xxs[part[k % 4]], kIq2Values, signs, factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ2_XS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {
    const float factor = scale * (0.5f + static_cast<float>(Nibble(block.scales, k / 2))) * 0.25f;
    const uint32_t signs = EvenSigns(block.quants[k] >> 9);
    DecodeEntry<2, 8>(kGridIq2Xs[block.quants[k] & 511], kIq2Values, signs, factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ2_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {
    const float factor = scale * (0.5f + static_cast<float>(Nibble(block.scales, k / 2))) * 0.25f;
    const int index = block.quants[k] | ((block.high[k / 4] >> (2 * (k % 4))) & 3) << 8;
    DecodeEntry<2, 8>(kGridIq2S[index], kIq2Values, block.signs[k], factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ3_XXS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {
    const uint32_t bits = LoadDword(block.signs + 4 * (k / 4));
    const float factor = scale * (0.5f + static_cast<float>(bits >> 28)) * 0.5f;
    const uint32_t signs = EvenSigns((bits >> (7 * (k % 4))) & 127u);
    DecodeIq3(kGridIq3Xxs, block.quants[2 * k], block.quants[2 * k + 1], kIq3XxsValues, signs,
              factor, out + 8 * k);
  }
}

void DecodeBlock(const BlockIQ3_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (int k = 0; k < 32; ++k) {
    const float factor = scale * static_cast<float>(1 + 2 * Nibble(block.scales, k / 4));
    const uint32_t high = static_cast<uint32_t>(block.high[k / 4] >> (2 * (k % 4)));
    DecodeIq3(kGridIq3S, block.quants[2 * k] | (high & 1u) << 8,
              block.quants[2 * k + 1] | (high & 2u) << 7, kIq3SValues, block.signs[k], factor,
              out + 8 * k);
  }
}

}  // namespace minfer::kernels
