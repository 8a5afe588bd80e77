// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_stream.h"

#include <chrono>
#include <thread>

namespace minfer {
namespace {

// Longer than any step takes; a device that has not answered by then is taken for stuck.
constexpr std::chrono::seconds kWaitLimit{120};
// Asked without pause for as long as a decode step takes, then with pauses.
constexpr std::chrono::milliseconds kSpin{5};
constexpr std::chrono::microseconds kPause{50};

// Calls query() until it answers with something else than "not ready".
template <typename Query>
Status WaitFor(const CudaRuntime& runtime, const Query& query) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const cudaError_t state = query();
    if (state != cudaErrorNotReady) return runtime.Check(state, "waiting for the device");
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kWaitLimit) {
      return Status(StatusCode::kDeadlineExceeded, Subsystem::kBackend,
                    "cuda: the device did not finish its work in time")
          .WithName(runtime.name());
    }
    if (waited > kSpin) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

CudaEvent::~CudaEvent() {
  if (event_ == nullptr) return;
  const CudaDeviceScope scope(*runtime_);
  cudaEventDestroy(event_);
}

Status CudaEvent::Record(cudaStream_t stream) {
  if (event_ == nullptr) {
    MF_RETURN_IF_ERROR(runtime_->Check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming),
                                       "creating an event"));
  }
  return runtime_->Check(cudaEventRecord(event_, stream), "recording an event");
}

bool CudaEvent::IsDone() const {
  if (event_ == nullptr) return true;
  const CudaDeviceScope scope(*runtime_);
  return cudaEventQuery(event_) != cudaErrorNotReady;
}

Status CudaEvent::Wait() const {
  if (event_ == nullptr) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  return WaitFor(*runtime_, [this] { return cudaEventQuery(event_); });
}

StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create(
    std::shared_ptr<const CudaRuntime> runtime) {
  const CudaDeviceScope scope(*runtime);
  std::unique_ptr<CudaStream> stream(new CudaStream(std::move(runtime)));
  MF_RETURN_IF_ERROR(stream->runtime_->Check(
      cudaStreamCreateWithFlags(&stream->stream_, cudaStreamNonBlocking), "creating a stream"));
  return stream;
}

CudaStream::~CudaStream() {
  if (stream_ == nullptr) return;
  const CudaDeviceScope scope(*runtime_);
  // A lost device has nothing left to wait for.
  const Status ignored = Synchronize();
  (void)ignored;
  cudaStreamDestroy(stream_);
}

Status CudaStream::Synchronize() {
  return WaitFor(*runtime_, [this] { return cudaStreamQuery(stream_); });
}

}  // namespace minfer
