// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The boundary: every function of the C header that can fail runs its body inside Guard. Nothing
// leaves it but a status, and the host's thread is as it was.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/status.h"
#include "capi/host_thread.h"
#include "capi/report.h"
#include "minfer/error.h"

namespace minfer::capi {

// Runs `body(const HostThread&)`, which returns a Status.
template <typename Body>
mf_status Guard(mf_error* error, Body&& body) noexcept {
  const HostThread thread;
  try {
    return Report(std::forward<Body>(body)(thread), error);
  } catch (const std::bad_alloc&) {
    return Report(StatusCode::kResourceExhausted, "out of memory", error);
  } catch (const std::exception& exception) {
    return Report(StatusCode::kInternal, exception.what(), error);
  } catch (...) {
    return Report(StatusCode::kInternal, "an exception of an unknown kind", error);
  }
}

// The same for functions that return no status: what goes wrong is dropped.
template <typename Body>
void GuardVoid(Body&& body) noexcept {
  const HostThread thread;
  try {
    std::forward<Body>(body)();
  } catch (...) {
  }
}

// Runs a callback of the host on the thread of the call; ABORTED when it throws.
template <typename Callback>
Status CallHost(const HostThread& thread, const char* name, Callback&& callback) {
  try {
    const HostCallback scope(thread);
    std::forward<Callback>(callback)();
    return OkStatus();
  } catch (...) {
    return Status(StatusCode::kAborted, Subsystem::kApi, "the host's callback threw an exception")
        .WithName(name);
  }
}

}  // namespace minfer::capi
