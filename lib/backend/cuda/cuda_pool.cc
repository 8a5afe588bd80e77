// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_pool.h"

#include "base/str_cat.h"

namespace minfer {

CudaPool::~CudaPool() {
  const CudaDeviceScope scope(*runtime_);
  for (const Slot& slot : slots_) {
    if (slot.data != nullptr) cudaFree(slot.data);
    memory_->account().Release(slot.memory_class, slot.bytes);
  }
}

StatusOr<BufferId> CudaPool::Allocate(uint64_t bytes, MemoryClass memory_class) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.free || slot.bytes != bytes || slot.memory_class != memory_class) continue;
    slot.free = false;
    ++generation_;
    return BufferId{static_cast<int32_t>(i)};
  }
  return AllocateFresh(bytes, memory_class);
}

StatusOr<BufferId> CudaPool::AllocateFresh(uint64_t bytes, MemoryClass memory_class) {
  slots_.reserve(slots_.size() + 1);
  MF_RETURN_IF_ERROR(memory_->account().Reserve(memory_class, bytes, runtime_->name()));
  Slot slot;
  slot.bytes = bytes;
  slot.memory_class = memory_class;
  if (bytes > 0) {
    const CudaDeviceScope scope(*runtime_);
    void* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, bytes);
    if (error != cudaSuccess) {
      memory_->account().Release(memory_class, bytes);
      size_t available = 0;
      size_t total = 0;
      Status status = runtime_->Error(
          error, StrCat("allocating ", bytes, " bytes of ", MemoryClassName(memory_class)));
      cudaMemGetInfo(&available, &total);
      return std::move(status).WithBytes(bytes, available);
    }
    slot.data = static_cast<uint8_t*>(data);
  }
  slots_.push_back(slot);
  ++generation_;
  return BufferId{static_cast<int32_t>(slots_.size() - 1)};
}

void CudaPool::Recycle(BufferId buffer) {
  const auto index = static_cast<size_t>(buffer.index);
  if (buffer.valid() && index < slots_.size()) slots_[index].free = true;
}

StatusOr<uint8_t*> CudaPool::Resolve(const BufferRange& range) const {
  const auto index = static_cast<size_t>(range.buffer.index);
  const bool in_use = range.buffer.valid() && index < slots_.size() && !slots_[index].free;
  if (!in_use || range.offset > slots_[index].bytes ||
      range.bytes > slots_[index].bytes - range.offset) {
    return Status(StatusCode::kInternal, Subsystem::kBackend,
                  StrCat("cuda: bytes [", range.offset, ", +", range.bytes, ") are not in buffer ",
                         range.buffer.index, in_use ? "" : ", which is not in use"))
        .WithName("cuda");
  }
  return slots_[index].data + range.offset;
}

void CudaPool::SetWriter(BufferId buffer, uint64_t work) {
  const auto index = static_cast<size_t>(buffer.index);
  if (buffer.valid() && index < slots_.size()) slots_[index].writer = work;
}

uint64_t CudaPool::writer(BufferId buffer) const {
  const auto index = static_cast<size_t>(buffer.index);
  return buffer.valid() && index < slots_.size() ? slots_[index].writer : 0;
}

}  // namespace minfer
