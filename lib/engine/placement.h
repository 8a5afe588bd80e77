// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which of a model's devices runs what. One device runs everything; of two, the first runs the
// first layers and the second, the CPU, what follows. Decided at load, explicit, and the same for
// the plan and for every context.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "base/status.h"
#include "engine/memory_use.h"
#include "graph/graph.h"
#include "models/architecture.h"

namespace minfer {

struct Placement {
  std::vector<std::shared_ptr<const Device>> devices;  // one or two
  int32_t layers = 0;                                  // on the first of two
  int32_t device = 0;                                  // index of the first in FindDevices()

  // Index in FindDevices() of a place in the list.
  int32_t IndexOf(size_t place) const { return place == 0 ? device : 0; }
  // The device, by its place in the list, of a layer.
  int32_t OfLayer(int32_t layer) const { return devices.size() > 1 && layer >= layers ? 1 : 0; }
};

struct PlacementOptions {
  int32_t device = 0;       // index into FindDevices()
  int32_t gpu_layers = -1;  // the first layers, on that device; -1: all
  uint64_t gpu_budget = 0;  // as many layers as have so many bytes of weights there; 0: no limit
};

// OUT_OF_RANGE for a device that does not exist.
StatusOr<Placement> MakePlacement(const ModelDescription& model, const PlacementOptions& options);

// Of what stands by place in the list, that of the device of an index, added up.
MemoryUse UseOn(const Placement& placement, const std::vector<MemoryUse>& uses, int32_t device);
MemoryAccount::Snapshot UseOn(const Placement& placement, const MemoryAccounts& accounts,
                              int32_t device);

// A device for each node; empty where there is one device.
std::vector<int32_t> PlaceNodes(const Placement& placement, const Graph& graph);

// Bit d: device d reads the weight. By WeightId.
StatusOr<std::vector<uint32_t>> PlaceWeights(const Placement& placement,
                                             const ModelDescription& model);

}  // namespace minfer
