// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Waiting for the device is bounded, and errors are told apart: with stand-ins for the device's
// answers on any machine, and with work that does not end on a real one.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "backend/cuda/cuda_runtime.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/cuda_wait.h"
#include "tests/cuda/device_data.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using std::chrono::milliseconds;

Status CodeOf(cudaError_t error) {
  if (error == cudaSuccess) return OkStatus();
  return Status(ClassifyCudaError(error).code, Subsystem::kBackend, "injected");
}

TEST_CASE("CUDA waits: work that does not end is DEADLINE_EXCEEDED, and names the device",
          "[cuda]") {
  int asked = 0;
  const Status late = WaitForCuda(
      milliseconds(20), "stuck device",
      [&] {
        ++asked;
        return cudaErrorNotReady;
      },
      CodeOf);
  CHECK(late.code() == StatusCode::kDeadlineExceeded);
  CHECK(late.name() == "stuck device");
  CHECK(asked > 1);
}

TEST_CASE("CUDA waits: an answer ends the wait, good or bad", "[cuda]") {
  for (const auto& [answer, code] : {std::pair(cudaSuccess, StatusCode::kOk),
                                     std::pair(cudaErrorIllegalAddress, StatusCode::kUnavailable),
                                     std::pair(cudaErrorInvalidValue, StatusCode::kInternal)}) {
    int asked = 0;
    const cudaError_t last = answer;
    const Status status = WaitForCuda(
        milliseconds(10'000), "device", [&] { return ++asked < 3 ? cudaErrorNotReady : last; },
        CodeOf);
    CHECK(status.code() == code);
    CHECK(asked == 3);
  }
}

TEST_CASE("CUDA waits: marks end the wait before the driver answers, and only all of them",
          "[cuda]") {
  const auto busy = [] { return cudaErrorNotReady; };
  std::vector<uint32_t> marks(3, 0);
  CHECK(LookForMarks(marks.data(), 0, busy));
  std::atomic<bool> all = false;
  std::thread kernel([&] {
    for (uint32_t& mark : marks) {
      std::this_thread::sleep_for(milliseconds(1));
      if (&mark == &marks.back()) all = true;
      std::atomic_ref<uint32_t>(mark).store(1, std::memory_order_release);
    }
  });
  // Looking ends after a few milliseconds; whoever asks then waits for the stream.
  while (!LookForMarks(marks.data(), 3, busy)) {
  }
  CHECK(all.load());
  kernel.join();
  marks[1] = 0;
  CHECK_FALSE(LookForMarks(marks.data(), 3, busy));
  // The driver has an answer, so no mark comes any more.
  int asked = 0;
  CHECK_FALSE(LookForMarks(marks.data(), 3, [&] {
    ++asked;
    return cudaErrorLaunchFailure;
  }));
  CHECK(asked == 1);
  // The last came between the look and the answer.
  CHECK(LookForMarks(marks.data(), 3, [&] {
    marks[1] = 1;
    return cudaSuccess;
  }));
}

TEST_CASE("CUDA errors: those that end the context lose the device, others do not", "[cuda]") {
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
        cudaErrorMisalignedAddress, cudaErrorECCUncorrectable, cudaErrorDevicesUnavailable}) {
    INFO(static_cast<int>(error));
    CHECK(ClassifyCudaError(error).sticky);
    CHECK(ClassifyCudaError(error).code == StatusCode::kUnavailable);
  }
  for (const cudaError_t error :
       {cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorStreamCaptureUnsupported}) {
    INFO(static_cast<int>(error));
    CHECK_FALSE(ClassifyCudaError(error).sticky);
    CHECK(ClassifyCudaError(error).code == StatusCode::kInternal);
  }
  CHECK_FALSE(ClassifyCudaError(cudaErrorMemoryAllocation).sticky);
  CHECK(ClassifyCudaError(cudaErrorMemoryAllocation).code == StatusCode::kResourceExhausted);
}

TEST_CASE("CUDA waits: a stuck stream is told in time, and works again once it goes on", "[cuda]") {
  if (!CudaIsHere()) return;
  StatusOr<std::shared_ptr<CudaRuntime>> runtime = CudaRuntime::Create(0);
  MF_REQUIRE_OK(runtime);
  (*runtime)->set_wait_limit(milliseconds(50));
  StatusOr<std::unique_ptr<CudaStream>> stream = CudaStream::Create(*runtime);
  MF_REQUIRE_OK(stream);
  std::atomic<bool> go_on{false};
  REQUIRE(cudaLaunchHostFunc((*stream)->get(),
                             [](void* flag) {
                               while (!static_cast<std::atomic<bool>*>(flag)->load())
                                 std::this_thread::yield();
                             },
                             &go_on) == cudaSuccess);
  CudaEvent event(*runtime);
  MF_REQUIRE_OK(event.Record((*stream)->get()));
  CHECK((*stream)->Synchronize().code() == StatusCode::kDeadlineExceeded);
  CHECK(event.Wait().code() == StatusCode::kDeadlineExceeded);
  CHECK_FALSE(event.IsDone());
  CHECK_FALSE((*runtime)->lost());
  go_on = true;
  (*runtime)->set_wait_limit(milliseconds(10'000));
  MF_REQUIRE_OK((*stream)->Synchronize());
  MF_REQUIRE_OK(event.Wait());
}

}  // namespace
}  // namespace minfer::testing
