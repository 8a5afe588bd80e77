// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Numbers below 2^-126 count as zero, read and made, for the life of the object. The host's setting
// comes back.
#pragma once

#include <immintrin.h>

namespace minfer::kernels {

class FlushDenormals {
 public:
  [[gnu::always_inline]] FlushDenormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | 0x8040u);  // FTZ and DAZ of MXCSR
  }
  [[gnu::always_inline]] ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned int saved_;
};

}  // namespace minfer::kernels
