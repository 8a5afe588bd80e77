// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The AVX-512 traits with BF16's products of pairs.
#pragma once

#include "kernels/cpu/matmul_avx512.h"

namespace minfer::kernels::avx512_bf16 {

struct Unit;

struct MatMulTraits : MatMulAvx512<Unit> {
  static constexpr bool kPairProducts = true;
  using Pairs = __m512bh;
  static Pairs LoadPairs(const uint8_t* p) {
    return reinterpret_cast<Pairs>(_mm512_loadu_si512(p));
  }
  static PairSums DotPairs(PairSums sums, Pairs w, Pairs x) { return _mm512_dpbf16_ps(sums, w, x); }
};

}  // namespace minfer::kernels::avx512_bf16
