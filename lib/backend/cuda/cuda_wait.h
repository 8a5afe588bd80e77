// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one way to wait for a device: bounded, and without a call that blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
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

// Looks at marks that a kernel sets in memory of the host, for as long as a decode step takes: a
// driver's answer comes some microseconds after the last store. True once all are set. False when
// they are not by then, or when query() has an answer sooner: then WaitForCuda tells what it is.
template <typename Query>
bool LookForMarks(uint32_t* marks, int64_t count, const Query& query) {
  constexpr uint32_t kLooksPerQuery = 1024;
  int64_t seen = 0;
  const auto all_set = [&] {
    while (seen < count &&
           std::atomic_ref<uint32_t>(marks[seen]).load(std::memory_order_acquire) != 0) {
      ++seen;
    }
    return seen == count;
  };
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t look = 1; !all_set(); ++look) {
    if (look % kLooksPerQuery != 0) continue;
    if (query() != cudaErrorNotReady) return all_set();
    if (std::chrono::steady_clock::now() - start > kCudaSpin) return false;
  }
  return true;
}

}  // namespace minfer
