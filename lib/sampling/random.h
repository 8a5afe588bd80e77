// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Random numbers as a function of (seed, position, draw) and nothing else, so that a retry, a
// rewind, a fork and any batching meet the same numbers.
#pragma once

#include <array>
#include <cstdint>

namespace minfer {

// Which decision of a position the number is for.
enum class RandomDraw : uint32_t { kToken = 0, kXtc = 1 };

// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform on [0, 1), a multiple of 2^-53.
double UniformRandom(uint64_t seed, int64_t position, RandomDraw draw);

}  // namespace minfer
