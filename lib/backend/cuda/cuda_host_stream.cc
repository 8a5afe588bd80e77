// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A stream and a context that the host gave. The stream only orders: before the first work after a
// wait, an event in it is waited for by ours. It is never recorded, waited for or destroyed.
#include "backend/cuda/cuda_backend.h"
#include "base/log.h"

namespace minfer {
namespace {

// The handle by which CUDA knows the legacy default stream. It is a host's to use, not ours.
bool IsLegacy(const void* stream) { return reinterpret_cast<uintptr_t>(stream) == 1; }

Status Refused(StatusCode code, const char* option, const char* message) {
  return Status(code, Subsystem::kBackend, message).WithName(option);
}

}  // namespace

Status CudaBackend::AcceptHost() {
  const CudaDeviceScope scope(*runtime_);
  if (options_.host_context != nullptr &&
      options_.host_context != static_cast<void*>(runtime_->PrimaryContext())) {
    return Refused(StatusCode::kUnimplemented, "cuda_context",
                   "it is not the primary context of the model's device");
  }
  if (options_.host_stream == nullptr) return OkStatus();
  host_mark_ = std::make_unique<CudaEvent>(runtime_);
  if (IsLegacy(options_.host_stream)) {
    graphs_enabled_ = false;
    if (options_.logger != nullptr) {
      options_.logger->Warning(
          "CUDA: the host's stream is the legacy one, which cannot be captured; kernels are "
          "launched one by one");
    }
  }
  Status status = FollowHost();
  if (status.ok() || status.code() != StatusCode::kInternal) return status;
  return Refused(StatusCode::kInvalidArgument, "cuda_stream",
                 "it is not a stream of the model's device");
}

// An event recorded in a stream that is being captured would draw our work into the host's graph.
Status CudaBackend::FollowHost() {
  if (host_mark_ == nullptr || follows_host_) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  const auto host = static_cast<cudaStream_t>(options_.host_stream);
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  if (!IsLegacy(host)) {
    MF_RETURN_IF_ERROR(runtime_->Check(cudaStreamIsCapturing(host, &capturing),
                                       "asking for the state of the host's stream"));
  }
  if (capturing != cudaStreamCaptureStatusNone) {
    return Refused(StatusCode::kFailedPrecondition, "cuda_stream",
                   "the host's stream is being captured");
  }
  MF_RETURN_IF_ERROR(host_mark_->Record(host));
  MF_RETURN_IF_ERROR(host_mark_->MakeWait(stream_->get()));
  follows_host_ = true;
  return OkStatus();
}

}  // namespace minfer
