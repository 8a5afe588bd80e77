// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_weight_store.h"

#include <cstring>

namespace minfer {

CpuWeightStore::Entry& CpuWeightStore::EntryOf(WeightId id) {
  const size_t index = static_cast<size_t>(id);
  if (index >= entries_.size()) entries_.resize(index + 1);
  return entries_[index];
}

StatusOr<void*> CpuWeightStore::Reserve(WeightId id, const WeightInfo& info) {
  MF_ASSIGN_OR_RETURN(HostBuffer buffer,
                      memory_->Allocate(MemoryClass::kWeights, info.bytes, info.name));
  Entry& entry = EntryOf(id);
  entry.owned = std::move(buffer);
  entry.data = entry.owned.data();
  return static_cast<void*>(entry.owned.data());
}

Status CpuWeightStore::Register(WeightId id, const WeightInfo& info, const void* data,
                                bool in_place) {
  if (in_place) {
    EntryOf(id).data = data;
    return OkStatus();
  }
  MF_ASSIGN_OR_RETURN(void* to, Reserve(id, info));
  std::memcpy(to, data, info.bytes);
  return OkStatus();
}

}  // namespace minfer
