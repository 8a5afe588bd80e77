// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_stream.h"

#include "backend/cuda/cuda_wait.h"

namespace minfer {
namespace {

template <typename Query>
Status WaitFor(const CudaRuntime& runtime, const Query& query) {
  return WaitForCuda(runtime.wait_limit(), runtime.name(), query, [&](cudaError_t state) {
    return runtime.Check(state, "waiting for the device");
  });
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

Status CudaEvent::MakeWait(cudaStream_t stream) const {
  return runtime_->Check(cudaStreamWaitEvent(stream, event_, 0), "waiting for an event");
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

bool CudaStream::SeesMarks(uint32_t* marks, int64_t count) const {
  return LookForMarks(marks, count, [this] { return cudaStreamQuery(stream_); });
}

Status CudaStream::Synchronize() {
  return WaitFor(*runtime_, [this] { return cudaStreamQuery(stream_); });
}

}  // namespace minfer
