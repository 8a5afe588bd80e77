// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The grids of the IQ1, IQ2 and IQ3 types: part of the formats, written by make_iq_grids.py.
//
// A code of n bits is the place of a value in the type's list of values. An entry has eight codes
// of two bits, or in IQ3 four of three bits, the first value's lowest.
#pragma once

#include <cstdint>

namespace minfer::kernels {

extern const uint16_t kGridIq1[2048];    // values -1, 0, 1; IQ1_S and IQ1_M
extern const uint16_t kGridIq2Xxs[256];  // values 8, 25, 43, and so the next two
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
extern const uint16_t kGridIq3Xxs[256];  // values 4, 12, 20, 28, 36, 44, 52, 62
extern const uint16_t kGridIq3S[512];    // values 1, 3, 5, 7, 9, 11, 13, 15

}  // namespace minfer::kernels
