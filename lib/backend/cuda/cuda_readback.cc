// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_readback.h"

#include <algorithm>
#include <cstring>

namespace minfer {

struct CudaReadback::Pinned {
  std::shared_ptr<const CudaRuntime> runtime;
  std::shared_ptr<HostMemory> memory;
  uint8_t* base = nullptr;
  uint64_t bytes = 0;

  ~Pinned() {
    if (base == nullptr) return;
    const CudaDeviceScope scope(*runtime);
    cudaFreeHost(base);
    memory->account().Release(MemoryClass::kStaging, bytes);
  }
};

class CudaReadback::Pending final : public Event {
 public:
  Pending(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<Pinned> pinned,
          const uint8_t* staged, void* host, uint64_t bytes)
      : pinned_(std::move(pinned)),
        mark_(std::move(runtime)),
        staged_(staged),
        host_(host),
        bytes_(bytes) {}

  // Without it only FinishAll may wait, for what the caller has waited for.
  Status Record(cudaStream_t stream) { return mark_.Record(stream); }

  // An event whose bytes have not come to the caller's memory is not done.
  bool IsDone() const override { return finished_; }

  Status Wait() override {
    if (finished_) return result_;
    result_ = mark_.Wait();
    finished_ = true;
    if (result_.ok() && staged_ != nullptr) std::memcpy(host_, staged_, bytes_);
    return result_;
  }

 private:
  std::shared_ptr<Pinned> pinned_;
  CudaEvent mark_;
  const uint8_t* staged_;  // nullptr: the transfer goes to the caller's memory itself
  void* host_;
  uint64_t bytes_;
  bool finished_ = false;
  Status result_;
};

CudaReadback::CudaReadback(std::shared_ptr<const CudaRuntime> runtime,
                           std::shared_ptr<HostMemory> memory, bool staged)
    : runtime_(runtime), pinned_(std::make_shared<Pinned>()) {
  pinned_->runtime = std::move(runtime);
  pinned_->memory = std::move(memory);
  const uint64_t bytes = PinnedBytes(staged);
  MemoryAccount& account = pinned_->memory->account();
  if (!account.Reserve(MemoryClass::kStaging, bytes, "readback").ok()) return;
  const CudaDeviceScope scope(*runtime_);
  void* base = nullptr;
  if (cudaHostAlloc(&base, bytes, cudaHostAllocDefault) == cudaSuccess) {
    pinned_->base = static_cast<uint8_t*>(base);
    pinned_->bytes = bytes;
    room_ = staged ? bytes - kFaultBytes - kRecordedBytes : 0;
    *fault_word() = 0;
  } else {
    cudaGetLastError();
    account.Release(MemoryClass::kStaging, bytes);
  }
}

CudaReadback::~CudaReadback() = default;

bool CudaReadback::pinned() const { return pinned_->base != nullptr; }

int32_t* CudaReadback::fault_word() const {
  return pinned() ? reinterpret_cast<int32_t*>(pinned_->base + room_) : nullptr;
}

// nullptr where there is none left.
uint8_t* CudaReadback::Room(uint64_t bytes) {
  std::erase_if(pending_, [](const auto& read) { return read->IsDone(); });
  if (pending_.empty()) used_ = 0;
  if (room_ == 0 || bytes > room_ - used_) return nullptr;
  uint8_t* staged = pinned_->base + used_;
  used_ = std::min(used_ + (bytes + 255) / 256 * 256, room_);
  return staged;
}

CudaReadback::Delivery CudaReadback::Expect(void* host, uint64_t bytes, int64_t n_marks) {
  const uint64_t marks_bytes = static_cast<uint64_t>(n_marks) * sizeof(uint32_t);
  uint8_t* staged = bytes % sizeof(uint32_t) == 0 ? Room(bytes + marks_bytes) : nullptr;
  if (staged == nullptr) return Delivery();
  const Delivery delivery{staged, reinterpret_cast<uint32_t*>(staged + bytes), n_marks};
  Clear(delivery);
  Expect(delivery, host, bytes);
  return delivery;
}

CudaReadback::Delivery CudaReadback::RecordedPlace(uint64_t bytes, int64_t n_marks) const {
  const uint64_t marks_bytes = static_cast<uint64_t>(n_marks) * sizeof(uint32_t);
  if (room_ == 0 || bytes % sizeof(uint32_t) != 0 || bytes + marks_bytes > kRecordedBytes) {
    return Delivery();
  }
  uint8_t* staged = pinned_->base + room_ + kFaultBytes;
  return Delivery{staged, reinterpret_cast<uint32_t*>(staged + bytes), n_marks};
}

void CudaReadback::Clear(const Delivery& delivery) {
  std::memset(delivery.marks, 0, static_cast<size_t>(delivery.n_marks) * sizeof(uint32_t));
}

void CudaReadback::Expect(const Delivery& delivery, void* host, uint64_t bytes) {
  pending_.push_back(std::make_shared<Pending>(runtime_, pinned_, delivery.staged, host, bytes));
  delivery_ = delivery;
  ++reads_;
}

StatusOr<std::shared_ptr<Event>> CudaReadback::Read(const void* from, void* host, uint64_t bytes,
                                                    cudaStream_t stream) {
  uint8_t* staged = Room(bytes);
  ++reads_;
  auto read = std::make_shared<Pending>(runtime_, pinned_, staged, host, bytes);
  pending_.reserve(pending_.size() + 1);
  MF_RETURN_IF_ERROR(runtime_->Check(cudaMemcpyAsync(staged != nullptr ? staged : host, from, bytes,
                                                     cudaMemcpyDeviceToHost, stream),
                                     "enqueuing a readback"));
  MF_RETURN_IF_ERROR(read->Record(stream));
  pending_.push_back(read);
  return std::shared_ptr<Event>(std::move(read));
}

Status CudaReadback::FinishAll() {
  Status first;
  for (const std::shared_ptr<Pending>& read : pending_) {
    Status status = read->Wait();
    if (first.ok()) first = std::move(status);
  }
  pending_.clear();
  used_ = 0;
  delivery_ = Delivery();
  return first;
}

}  // namespace minfer
