// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_weight_store.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/str_cat.h"
#include "kernels/cuda/common/row_layout.h"

namespace minfer {

CudaWeightStore::CudaWeightStore(std::shared_ptr<const CudaRuntime> runtime,
                                 std::shared_ptr<HostMemory> memory)
    : runtime_(runtime), memory_(memory), pool_(std::move(runtime), std::move(memory)) {}

// The stream waits for the uploads before their sources and targets go.
CudaWeightStore::~CudaWeightStore() { stream_ = nullptr; }

// At the first weight, so that a store which only plans takes nothing.
Status CudaWeightStore::Open(const WeightInfo& info) {
  if (ring_ != nullptr) return OkStatus();
  if (stream_ != nullptr) {
    return Status(StatusCode::kInternal, Subsystem::kBackend, "cuda: a weight after the last one")
        .WithName(info.name);
  }
  MF_ASSIGN_OR_RETURN(stream_, CudaStream::Create(runtime_));
  ring_ = CudaUploadRing::Create(runtime_, memory_);
  return OkStatus();
}

uint64_t CudaWeightStore::BytesFor(const WeightInfo& info, bool) const {
  const int64_t row = kernels::cuda::WeightRowBytes(info.type, info.ne0);
  return static_cast<uint64_t>(row) * static_cast<uint64_t>(info.ne1 * info.ne2);
}

Status CudaWeightStore::Register(WeightId id, const WeightInfo& info, const void* data, bool) {
  MF_RETURN_IF_ERROR(UploadReserved());
  return Upload(id, info, static_cast<const uint8_t*>(data));
}

StatusOr<void*> CudaWeightStore::Reserve(WeightId id, const WeightInfo& info) {
  MF_RETURN_IF_ERROR(UploadReserved());
  MF_ASSIGN_OR_RETURN(reserved_, memory_->Allocate(MemoryClass::kStaging, info.bytes, info.name));
  reserved_id_ = id;
  reserved_info_ = info;
  return static_cast<void*>(reserved_.data());
}

Status CudaWeightStore::UploadReserved() {
  if (reserved_id_ == kNoId) return OkStatus();
  const WeightId id = std::exchange(reserved_id_, kNoId);
  Status status = Upload(id, reserved_info_, reserved_.data());
  // Without a ring the transfer may still read the buffer.
  if (status.ok() && !ring_->pinned()) {
    const CudaDeviceScope scope(*runtime_);
    status = stream_->Synchronize();
  }
  reserved_ = HostBuffer();
  return status;
}

Status CudaWeightStore::Upload(WeightId id, const WeightInfo& info, const uint8_t* data) {
  MF_RETURN_IF_ERROR(Open(info));
  const uint64_t bytes = BytesFor(info, false);
  const uint64_t row_bytes = info.ne1 > 0 ? info.row_bytes() : 0;
  if (bytes == 0) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kBackend,
                  StrCat("cuda: no kernel reads type ", static_cast<int32_t>(info.type),
                         " with rows of ", info.ne0))
        .WithName(info.name);
  }
  const auto index = static_cast<size_t>(id);
  if (index >= entries_.size()) entries_.resize(index + 1, nullptr);
  StatusOr<BufferId> buffer = pool_.AllocateFresh(bytes, MemoryClass::kWeights);
  if (!buffer.ok()) return std::move(buffer).status().WithName(info.name);
  MF_ASSIGN_OR_RETURN(uint8_t * to, pool_.Resolve({*buffer, 0, bytes}));
  const CudaDeviceScope scope(*runtime_);
  MF_RETURN_IF_ERROR(UploadRows(info, data, row_bytes, to));
  entries_[index] = to;
  return OkStatus();
}

// As many rows at a time as a slot of the ring holds; a row that no slot holds is packed apart.
Status CudaWeightStore::UploadRows(const WeightInfo& info, const uint8_t* data, uint64_t row_bytes,
                                   uint8_t* to) {
  const auto packed = static_cast<uint64_t>(kernels::cuda::WeightRowBytes(info.type, info.ne0));
  const auto rows = static_cast<uint64_t>(info.ne1 * info.ne2);
  const uint64_t per_part = std::max<uint64_t>(1, CudaUploadRing::kSlotBytes / packed);
  std::vector<uint8_t> apart;
  for (uint64_t row = 0; row < rows; row += per_part) {
    const uint64_t count = std::min(per_part, rows - row);
    const uint64_t bytes = count * packed;
    uint8_t* room = nullptr;
    if (bytes <= CudaUploadRing::kSlotBytes) {
      MF_ASSIGN_OR_RETURN(room, ring_->Room(bytes, stream_->get()));
    }
    const bool staged = room != nullptr;
    if (!staged) {
      apart.resize(bytes);
      room = apart.data();
    }
    for (uint64_t r = 0; r < count; ++r) {
      const kernels::KernelStatus status = kernels::cuda::PackWeightRow(
          info.type, info.ne0, data + (row + r) * row_bytes, room + r * packed);
      if (status == kernels::KernelStatus::kOk) continue;
      return Status(StatusCode::kInternal, Subsystem::kBackend,
                    StrCat("cuda: packing a row: ", kernels::KernelStatusName(status)))
          .WithName(info.name);
    }
    uint8_t* target = to + row * packed;
    if (staged) {
      MF_RETURN_IF_ERROR(ring_->Send(target, room, bytes, stream_->get()));
    } else {
      MF_RETURN_IF_ERROR(ring_->Write(target, room, bytes, stream_->get()));
      MF_RETURN_IF_ERROR(stream_->Synchronize());
    }
  }
  return OkStatus();
}

Status CudaWeightStore::Finish() {
  MF_RETURN_IF_ERROR(UploadReserved());
  if (stream_ == nullptr) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  MF_RETURN_IF_ERROR(stream_->Synchronize());
  // Nothing is uploaded any more: the pinned memory goes back.
  ring_ = nullptr;
  return runtime_->TakeLatched();
}

}  // namespace minfer
