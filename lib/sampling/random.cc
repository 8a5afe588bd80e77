// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/random.h"

namespace minfer {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  // Multipliers and Weyl increments of the paper's 4x32 variant.
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

double UniformRandom(uint64_t seed, int64_t position, RandomDraw draw) {
  const auto place = static_cast<uint64_t>(position);
  const std::array<uint32_t, 4> bits =
      Philox4x32({static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32),
                  static_cast<uint32_t>(draw), 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t mantissa = ((static_cast<uint64_t>(bits[1]) << 32) | bits[0]) >> 11;
  return static_cast<double>(mantissa) * 0x1.0p-53;
}

}  // namespace minfer
