// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The machine's own limit: how fast threads can read memory.
#pragma once

#include <cstdint>

namespace bench {

// Bytes a second that `n_threads` threads read together, from memory that no cache holds: the best
// of several sweeps.
double MeasureReadBandwidth(uint32_t n_threads);

}  // namespace bench
