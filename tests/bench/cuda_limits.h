// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the benchmarks compare with: an H200, as a plain read and bf16 tensor cores have it.
#pragma once

namespace minfer::bench {

inline constexpr double kBandwidth = 4.6e12;
inline constexpr double kTensorFlops = 790e12;

}  // namespace minfer::bench
