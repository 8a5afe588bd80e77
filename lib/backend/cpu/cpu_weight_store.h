// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Weights for the CPU: in place where the bytes stay (a mapping, the caller's memory), copied
// otherwise.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/host_memory.h"

namespace minfer {

class CpuWeightStore final : public WeightStore {
 public:
  explicit CpuWeightStore(std::shared_ptr<HostMemory> memory) : memory_(std::move(memory)) {}

  Status Register(WeightId id, const WeightInfo& info, const void* data, bool in_place) override;
  StatusOr<void*> Reserve(WeightId id, const WeightInfo& info) override;
  Status Finish() override { return OkStatus(); }
  uint64_t BytesFor(const WeightInfo& info, bool in_place) const override {
    return in_place ? 0 : info.bytes;
  }

  // nullptr for a weight that was never registered.
  const void* data(WeightId id) const {
    const size_t index = static_cast<size_t>(id);
    return index < entries_.size() ? entries_[index].data : nullptr;
  }

 private:
  struct Entry {
    const void* data = nullptr;
    HostBuffer owned;
  };

  Entry& EntryOf(WeightId id);

  std::shared_ptr<HostMemory> memory_;
  std::vector<Entry> entries_;
};

}  // namespace minfer
