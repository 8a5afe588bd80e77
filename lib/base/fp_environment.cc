// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace minfer {

#if defined(__x86_64__)

// MXCSR alone: all our arithmetic is SSE or wider, the x87 unit is not touched.
namespace {
constexpr uint32_t kDefaultMxcsr = 0x1f80;  // all exceptions masked, nearest, no FTZ, no DAZ
}

FpEnvironment::FpEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(kDefaultMxcsr); }
FpEnvironment::~FpEnvironment() { _mm_setcsr(saved_); }

#else

FpEnvironment::FpEnvironment() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}
FpEnvironment::~FpEnvironment() { std::fesetenv(&saved_); }

#endif

}  // namespace minfer
