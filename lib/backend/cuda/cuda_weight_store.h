// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A model's weights on a device, in the layout of kernels/cuda/common/row_layout.h. Uploads run in
// a stream of the store through the pinned ring; Finish waits for them and checks them.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/cuda_pool.h"
#include "backend/cuda/cuda_upload.h"

namespace minfer {

class CudaWeightStore final : public WeightStore {
 public:
  CudaWeightStore(std::shared_ptr<const CudaRuntime> runtime, std::shared_ptr<HostMemory> memory);
  ~CudaWeightStore() override;

  Status Register(WeightId id, const WeightInfo& info, const void* data, bool in_place) override;
  StatusOr<void*> Reserve(WeightId id, const WeightInfo& info) override;
  Status Finish() override;
  uint64_t BytesFor(const WeightInfo& info, bool in_place) const override;

  // nullptr for a weight that was never registered.
  const void* data(WeightId id) const {
    const auto index = static_cast<size_t>(id);
    return index < entries_.size() ? entries_[index] : nullptr;
  }

 private:
  Status Open(const WeightInfo& info);
  Status Upload(WeightId id, const WeightInfo& info, const uint8_t* data);
  Status UploadRows(const WeightInfo& info, const uint8_t* data, uint64_t row_bytes, uint8_t* to);
  Status UploadReserved();

  std::shared_ptr<const CudaRuntime> runtime_;
  std::shared_ptr<HostMemory> memory_;
  CudaPool pool_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<CudaUploadRing> ring_;
  std::vector<const uint8_t*> entries_;
  // A weight whose bytes the caller is filling in; it is uploaded when the next one is asked for.
  HostBuffer reserved_;
  WeightId reserved_id_ = kNoId;
  WeightInfo reserved_info_;
};

}  // namespace minfer
