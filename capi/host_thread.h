// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The state of the host's thread that a call must not disturb: errno, floating-point control, and
// cancellation, which would unwind through a noexcept boundary. The library computes with rounding
// to nearest, exceptions masked, denormals kept; a callback sees the host's own state again.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#define MF_HAS_MXCSR 1
#else
#include <cfenv>
#endif

namespace minfer::capi {

class FloatControl {
 public:
#ifdef MF_HAS_MXCSR
  static FloatControl Read() noexcept {
    FloatControl control;
    control.mxcsr_ = _mm_getcsr();
    asm volatile("fnstcw %0" : "=m"(control.x87_));
    return control;
  }
  static FloatControl Default() noexcept { return FloatControl(); }
  void Apply() const noexcept {
    _mm_setcsr(mxcsr_);
    asm volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  uint32_t mxcsr_ = 0x1F80;  // all exceptions masked, to nearest, no flush to zero
  uint16_t x87_ = 0x037F;    // the same, with the full precision that the ABI starts with
#else
  static FloatControl Read() noexcept {
    FloatControl control;
    std::fegetenv(&control.environment_);
    return control;
  }
  static FloatControl Default() noexcept {
    FloatControl control;
    std::fenv_t current;
    std::fegetenv(&current);
    std::fesetenv(FE_DFL_ENV);
    std::fegetenv(&control.environment_);
    std::fesetenv(&current);
    return control;
  }
  void Apply() const noexcept { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_{};
#endif
};

// From entry to return of a call.
class HostThread {
 public:
  HostThread() noexcept : errno_(errno), float_control_(FloatControl::Read()) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    FloatControl::Default().Apply();
  }
  ~HostThread() {
    float_control_.Apply();
    int ignored = 0;
    pthread_setcancelstate(cancel_state_, &ignored);
    errno = errno_;
  }
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

 private:
  int errno_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
  FloatControl float_control_;

  friend class HostCallback;
};

// From entry to return of a host's callback on the thread of the call.
class HostCallback {
 public:
  explicit HostCallback(const HostThread& thread) noexcept : ours_(FloatControl::Read()) {
    thread.float_control_.Apply();
  }
  ~HostCallback() { ours_.Apply(); }
  HostCallback(const HostCallback&) = delete;
  HostCallback& operator=(const HostCallback&) = delete;

 private:
  FloatControl ours_;
};

}  // namespace minfer::capi
