// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The AVX-512 traits with VNNI's byte products, which go straight into 32-bit sums.
#pragma once

#include "kernels/cpu/matmul_avx512.h"

namespace minfer::kernels::avx512_vnni {

struct Unit;

struct MatMulTraits : MatMulAvx512<Unit> {
  static constexpr bool kExactDot = true;
  static constexpr bool kSignedBytes = false;
  using Dot = __m512i;
  static Dot DotBegin(I32 correction) { return correction; }
  static Dot DotStep(Dot sum, I32 codes, I32 quants) {
    return _mm512_dpbusd_epi32(sum, codes, quants);
  }
  static I32 DotEnd(Dot sum, I32 /*correction*/) { return sum; }
  static I32 DotScale(I32 scale) { return scale; }
  static I32 DotEndScaled(I32 total, Dot sum, I32 scale) {
    return _mm512_add_epi32(total, _mm512_mullo_epi32(sum, scale));
  }
  static I32 PairDot(I32 sum, I32 a, I32 b) { return _mm512_dpwssd_epi32(sum, a, b); }
};

}  // namespace minfer::kernels::avx512_vnni
