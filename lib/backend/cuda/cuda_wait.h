// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one way to wait for a device: bounded, and without a call that blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "base/status.h"

namespace minfer {

// Asked without pause for as long as a decode step takes, then with pauses.
inline constexpr std::chrono::milliseconds kCudaSpin{5};
inline constexpr std::chrono::microseconds kCudaPause{50};

// Calls query() until it answers with something else than "not ready", and gives that to check().
// DEADLINE_EXCEEDED when the limit passes: the work may still finish, a later wait may succeed.
template <typename Query, typename Check>
Status WaitForCuda(std::chrono::milliseconds limit, std::string_view device, const Query& query,
                   const Check& check) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const cudaError_t state = query();
    if (state != cudaErrorNotReady) return check(state);
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > limit) {
      return Status(StatusCode::kDeadlineExceeded, Subsystem::kBackend,
                    "cuda: the device did not finish its work in time")
          .WithName(device);
    }
    if (waited > kCudaSpin) std::this_thread::sleep_for(kCudaPause);
  }
}

}  // namespace minfer
