// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_weight_store.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/str_cat.h"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/mmq/mmq_copy.h"

namespace minfer {

CudaWeightStore::CudaWeightStore(std::shared_ptr<const CudaRuntime> runtime,
                                 std::shared_ptr<HostMemory> memory, WeightCopies copies)
    : runtime_(runtime),
      memory_(memory),
      pool_(std::move(runtime), std::move(memory)),
      copies_(std::move(copies)),
      half_groups_(copies_.halves.size(), nullptr) {}

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
  if (row == 0) return 0;
  return static_cast<uint64_t>(row + MmqRowBytes(info)) *
             static_cast<uint64_t>(info.ne1 * info.ne2) +
         HalfBytes(info);
}

// Of a row in the copy that MMQ reads; 0: none.
int64_t CudaWeightStore::MmqRowBytes(const WeightInfo& info) const {
  const bool wanted = (info.type == ElementType::kQ6_K && copies_.expand_q6k) ||
                      (info.type == ElementType::kQ4_K && copies_.scale_q4k);
  if (!wanted || info.ne2 != 1 || copies_.products.count(info.name) == 0) return 0;
  return kernels::cuda::MmqCopyRowBytes(info.type, info.ne0);
}

// The weight's part of its group.
uint64_t CudaWeightStore::HalfBytes(const WeightInfo& info) const {
  for (const WeightCopies::HalfGroup& group : copies_.halves) {
    for (const WeightCopies::HalfMember& member : group.members) {
      if (member.name == info.name) {
        return static_cast<uint64_t>((info.ne1 + 7) / 8 * 8 * info.ne0 * 2);
      }
    }
  }
  return 0;
}

StatusOr<uint8_t*> CudaWeightStore::Take(const WeightInfo& info, uint64_t bytes) {
  StatusOr<BufferId> buffer = pool_.AllocateFresh(bytes, MemoryClass::kWeights);
  if (!buffer.ok()) return std::move(buffer).status().WithName(info.name);
  return pool_.Resolve({*buffer, 0, bytes});
}

// Decoded on the device, in its group's memory, which is taken whole with the first of it.
Status CudaWeightStore::AddHalves(const WeightInfo& info, Entry* entry) {
  for (size_t g = 0; g < copies_.halves.size(); ++g) {
    const WeightCopies::HalfGroup& group = copies_.halves[g];
    for (size_t i = 0; i < group.members.size(); ++i) {
      if (group.members[i].name != info.name) continue;
      const int64_t row_bytes = 2 * info.ne0;
      if (half_groups_[g] == nullptr) {
        const auto bytes = static_cast<uint64_t>(group.rows * row_bytes);
        MF_ASSIGN_OR_RETURN(half_groups_[g], Take(info, bytes));
        // Rows that only fill up are computed with, and not used.
        MF_RETURN_IF_ERROR(runtime_->Check(
            cudaMemsetAsync(half_groups_[g], 0, bytes, stream_->get()), "clearing halves"));
      }
      kernels::cuda::DecodeRowsArgs rows;
      rows.type = info.type;
      rows.weights = entry->data;
      rows.k = info.ne0;
      rows.count = info.ne1;
      rows.interleaved = group.interleaved;
      rows.group_offset = static_cast<int>(8 * i);
      rows.out = half_groups_[g] + (group.interleaved ? 0 : group.members[i].first * row_bytes);
      const kernels::KernelStatus status = kernels::cuda::DecodeRowsToHalf(rows, stream_->get());
      if (status != kernels::KernelStatus::kOk) {
        return Status(StatusCode::kInternal, Subsystem::kBackend,
                      StrCat("cuda: decoding to halves: ", kernels::KernelStatusName(status)))
            .WithName(info.name);
      }
      entry->halves = static_cast<const uint8_t*>(rows.out);
      entry->interleaved = group.interleaved;
      return OkStatus();
    }
  }
  return OkStatus();
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
  const RowLayout layout{static_cast<uint64_t>(kernels::cuda::WeightRowBytes(info.type, info.ne0)),
                         kernels::cuda::PackWeightRow};
  const auto rows = static_cast<uint64_t>(info.ne1 * info.ne2);
  if (layout.bytes * rows == 0) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kBackend,
                  StrCat("cuda: no kernel reads type ", static_cast<int32_t>(info.type),
                         " with rows of ", info.ne0))
        .WithName(info.name);
  }
  const auto index = static_cast<size_t>(id);
  if (index >= entries_.size()) entries_.resize(index + 1);
  const CudaDeviceScope scope(*runtime_);
  Entry entry;
  MF_ASSIGN_OR_RETURN(uint8_t * to, Take(info, layout.bytes * rows));
  MF_RETURN_IF_ERROR(UploadRows(info, data, layout, to));
  entry.data = to;
  const RowLayout copy{static_cast<uint64_t>(MmqRowBytes(info)), kernels::cuda::PackMmqCopyRow};
  if (copy.bytes > 0) {
    MF_ASSIGN_OR_RETURN(uint8_t * beside, Take(info, copy.bytes * rows));
    MF_RETURN_IF_ERROR(UploadRows(info, data, copy, beside));
    entry.mmq = beside;
  }
  MF_RETURN_IF_ERROR(AddHalves(info, &entry));
  entries_[index] = entry;
  return OkStatus();
}

// As many rows at a time as a slot of the ring holds; a row that no slot holds is packed apart.
Status CudaWeightStore::UploadRows(const WeightInfo& info, const uint8_t* data,
                                   const RowLayout& layout, uint8_t* to) {
  const uint64_t row_bytes = info.row_bytes();
  const uint64_t packed = layout.bytes;
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
      const kernels::KernelStatus status =
          layout.pack(info.type, info.ne0, data + (row + r) * row_bytes, room + r * packed);
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
