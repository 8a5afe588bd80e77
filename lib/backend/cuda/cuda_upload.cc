// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_upload.h"

#include <algorithm>
#include <cstring>

namespace minfer {
namespace {

constexpr uint64_t kRoomAlignment = 256;

}  // namespace

CudaUploadRing::CudaUploadRing(std::shared_ptr<const CudaRuntime> runtime,
                               std::shared_ptr<HostMemory> memory)
    : runtime_(std::move(runtime)), memory_(std::move(memory)) {
  for (std::unique_ptr<CudaEvent>& event : events_) event = std::make_unique<CudaEvent>(runtime_);
}

std::unique_ptr<CudaUploadRing> CudaUploadRing::Create(std::shared_ptr<const CudaRuntime> runtime,
                                                       std::shared_ptr<HostMemory> memory) {
  std::unique_ptr<CudaUploadRing> ring(new CudaUploadRing(std::move(runtime), std::move(memory)));
  if (!ring->memory_->account().Reserve(MemoryClass::kStaging, kBytes, "upload ring").ok()) {
    return ring;
  }
  const CudaDeviceScope scope(*ring->runtime_);
  void* base = nullptr;
  if (cudaHostAlloc(&base, kBytes, cudaHostAllocDefault) == cudaSuccess) {
    ring->base_ = static_cast<uint8_t*>(base);
  } else {
    cudaGetLastError();
    ring->memory_->account().Release(MemoryClass::kStaging, kBytes);
  }
  return ring;
}

CudaUploadRing::~CudaUploadRing() {
  if (base_ == nullptr) return;
  const CudaDeviceScope scope(*runtime_);
  cudaFreeHost(base_);
  memory_->account().Release(MemoryClass::kStaging, kBytes);
}

StatusOr<uint8_t*> CudaUploadRing::Room(uint64_t bytes, cudaStream_t stream) {
  if (base_ == nullptr) return static_cast<uint8_t*>(nullptr);
  if (used_ + bytes > kSlotBytes) {
    MF_RETURN_IF_ERROR(events_[slot_]->Record(stream));
    slot_ = (slot_ + 1) % kSlots;
    used_ = 0;
    MF_RETURN_IF_ERROR(events_[slot_]->Wait());
  }
  uint8_t* room = base_ + slot_ * kSlotBytes + used_;
  used_ += (bytes + kRoomAlignment - 1) / kRoomAlignment * kRoomAlignment;
  return room;
}

Status CudaUploadRing::Send(void* to, const uint8_t* room, uint64_t bytes, cudaStream_t stream) {
  return runtime_->Check(cudaMemcpyAsync(to, room, bytes, cudaMemcpyHostToDevice, stream),
                         "enqueuing an upload");
}

Status CudaUploadRing::Write(void* to, const void* from, uint64_t bytes, cudaStream_t stream) {
  if (base_ == nullptr) {
    return runtime_->Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream),
                           "enqueuing an upload");
  }
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(bytes - done, kSlotBytes);
    MF_ASSIGN_OR_RETURN(uint8_t * room, Room(part, stream));
    std::memcpy(room, static_cast<const uint8_t*>(from) + done, part);
    MF_RETURN_IF_ERROR(Send(static_cast<uint8_t*>(to) + done, room, part, stream));
    done += part;
  }
  return OkStatus();
}

}  // namespace minfer
