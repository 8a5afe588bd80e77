// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point environment that our arithmetic needs: rounding to nearest even, no flush to
// zero, no traps. A host may have set another one on its thread.
#pragma once

#include <cstdint>

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace minfer {

// Sets the environment for a scope and puts back what was there, status flags included. Costs a
// few nanoseconds; stands at the boundary and at every entry of a thread that is not ours.
class FpEnvironment {
 public:
  FpEnvironment();
  ~FpEnvironment();
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  uint32_t saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace minfer
