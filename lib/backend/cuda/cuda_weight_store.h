// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A model's weights on a device, in the layout of kernels/cuda/common/row_layout.h, and the copies
// that were asked for. Uploads run in a stream of the store through the pinned ring; Finish waits
// for them and checks them.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/cuda_pool.h"
#include "backend/cuda/cuda_upload.h"
#include "backend/device.h"
#include "kernels/common/kernel_status.h"

namespace minfer {

class CudaWeightStore final : public WeightStore {
 public:
  CudaWeightStore(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory,
                  WeightCopies copies = {});
  ~CudaWeightStore() override;

  Status Register(WeightId id, const WeightInfo& info, const void* data, bool in_place) override;
  StatusOr<void*> Reserve(WeightId id, const WeightInfo& info) override;
  Status Finish() override;
  uint64_t BytesFor(const WeightInfo& info, bool in_place) const override;

  // A weight where it lies on the device; nullptr: never registered, or there is no such copy.
  struct Entry {
    const uint8_t* data = nullptr;
    const uint8_t* mmq = nullptr;     // in the layout of kernels/cuda/mmq/mmq_copy.h
    const uint8_t* halves = nullptr;  // the first of its rows
    bool interleaved = false;         // with those of gate or up
  };
  Entry entry(WeightId id) const {
    const auto index = static_cast<size_t>(id);
    return index < entries_.size() ? entries_[index] : Entry();
  }

 private:
  Status Open(const WeightInfo& info);
  Status Upload(WeightId id, const WeightInfo& info, const uint8_t* data);
  // How a row is packed, and its bytes then.
  struct RowLayout {
    uint64_t bytes = 0;
    kernels::KernelStatus (*pack)(ElementType type, int64_t k, const uint8_t* from,
                                  uint8_t* to) = nullptr;
  };
  Status UploadRows(const WeightInfo& info, const uint8_t* data, const RowLayout& layout,
                    uint8_t* to);
  StatusOr<uint8_t*> Take(const WeightInfo& info, uint64_t bytes);
  int64_t MmqRowBytes(const WeightInfo& info) const;
  uint64_t HalfBytes(const WeightInfo& info) const;
  Status AddHalves(const WeightInfo& info, Entry* entry);
  Status UploadReserved();

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<HostMemory> memory_;
  CudaPool pool_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<CudaUploadRing> ring_;
  WeightCopies copies_;
  std::vector<uint8_t*> half_groups_;  // where each begins, once one of its weights came
  std::vector<Entry> entries_;
  // A weight whose bytes the caller is filling in; it is uploaded when the next one is asked for.
  HostBuffer reserved_;
  WeightId reserved_id_ = kNoId;
  WeightInfo reserved_info_;
};

}  // namespace minfer
