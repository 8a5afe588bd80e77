// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/placement.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/str_cat.h"
#include "engine/backends.h"

namespace minfer {
namespace {

constexpr int32_t kBehindAll = std::numeric_limits<int32_t>::max();

// N of "blk.N.", or -1.
int32_t LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (name.substr(0, kPrefix.size()) != kPrefix) return -1;
  int32_t layer = 0;
  size_t at = kPrefix.size();
  for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && layer < 100'000; ++at) {
    layer = 10 * layer + (name[at] - '0');
  }
  return at > kPrefix.size() && at < name.size() && name[at] == '.' ? layer : -1;
}

// The layer that a node belongs to, as its weights and attributes tell: a gather without a layer
// stands before all, another operation on a weight without one behind all. -1: nothing tells.
int32_t OwnLayer(const Graph& graph, const Node& node) {
  int32_t layer = node.op == OpKind::kAttention || node.op == OpKind::kKvStore ||
                          node.op == OpKind::kRopeKvStore
                      ? node.attributes.layer
                      : -1;
  for (const WeightId id : node.weights) {
    if (id == kNoId) continue;
    const int32_t of_weight = LayerOf(graph.weight(id).name);
    if (of_weight < 0 && node.op != OpKind::kGetRows) return kBehindAll;
    layer = std::max(layer, of_weight);
  }
  return layer;
}

StatusOr<Graph> SmallestGraph(const ModelDescription& model) {
  GraphParams params;
  params.decode_rows = 1;
  params.output_rows = 1;
  params.sequences = 1;
  params.pages_per_sequence = 1;
  StepInputs inputs;
  return BuildStepGraph(model, params, &inputs);
}

// The most layers whose weights, and what stands before and behind them, fit the budget on the
// first device.
StatusOr<int32_t> LayersWithin(const Placement& all, const ModelDescription& model,
                               uint64_t budget) {
  MF_ASSIGN_OR_RETURN(const std::shared_ptr<WeightStore> store,
                      all.devices[0]->CreateWeightStore(WeightStoreOptions()));
  const auto bytes_of = [&](const std::vector<uint32_t>& masks) {
    uint64_t bytes = 0;
    for (size_t id = 0; id < masks.size(); ++id) {
      if ((masks[id] & 1u) != 0) bytes += store->BytesFor(model.weight_table[id], false);
    }
    return bytes;
  };
  MF_ASSIGN_OR_RETURN(std::vector<uint32_t> masks, PlaceWeights(all, model));
  if (bytes_of(masks) <= budget) return -1;
  Placement part = all;
  part.devices.push_back(all.devices[0]);
  for (part.layers = model.hp.n_layers; part.layers > 0; --part.layers) {
    MF_ASSIGN_OR_RETURN(masks, PlaceWeights(part, model));
    if (bytes_of(masks) <= budget) break;
  }
  return part.layers;
}

}  // namespace

StatusOr<Placement> MakePlacement(const ModelDescription& model, const PlacementOptions& options) {
  const std::vector<std::shared_ptr<const Device>> devices = FindDevices();
  if (options.device < 0 || static_cast<size_t>(options.device) >= devices.size()) {
    return Status(StatusCode::kOutOfRange, Subsystem::kEngine,
                  StrCat("device ", options.device, " of ", devices.size()))
        .WithName("device");
  }
  Placement placement;
  placement.devices.push_back(devices[static_cast<size_t>(options.device)]);
  placement.device = options.device;
  int32_t layers = options.gpu_layers;
  if (layers < 0 && options.gpu_budget > 0) {
    MF_ASSIGN_OR_RETURN(layers, LayersWithin(placement, model, options.gpu_budget));
  }
  // More layers than there are: what stands behind them too.
  if (layers < 0 || layers > model.hp.n_layers) return placement;
  placement.layers = layers;
  placement.devices.push_back(devices.front());
  return placement;
}

// Nodes stand in the order of their layers, so what has no layer of its own goes with what is
// before it, and the graph is cut once.
MemoryUse UseOn(const Placement& placement, const std::vector<MemoryUse>& uses, int32_t device) {
  MemoryUse sum;
  for (size_t place = 0; place < uses.size(); ++place) {
    if (placement.IndexOf(place) != device) continue;
    for (size_t c = 0; c < sum.bytes.size(); ++c) sum.bytes[c] += uses[place].bytes[c];
  }
  return sum;
}

MemoryAccount::Snapshot UseOn(const Placement& placement, const MemoryAccounts& accounts,
                              int32_t device) {
  MemoryAccount::Snapshot sum;
  for (size_t place = 0; place < accounts.size(); ++place) {
    if (placement.IndexOf(place) == device) AddSnapshot(accounts[place]->Read(), &sum);
  }
  return sum;
}

std::vector<int32_t> PlaceNodes(const Placement& placement, const Graph& graph) {
  if (placement.devices.size() < 2) return {};
  std::vector<int32_t> wanted;
  int32_t layer = 0;
  for (const Node& node : graph.nodes) {
    layer = std::max(layer, OwnLayer(graph, node));
    wanted.push_back(placement.OfLayer(layer));
  }
  return wanted;
}

StatusOr<std::vector<uint32_t>> PlaceWeights(const Placement& placement,
                                             const ModelDescription& model) {
  std::vector<uint32_t> masks(model.weight_table.size(), 1u);
  if (placement.devices.size() < 2) return masks;
  MF_ASSIGN_OR_RETURN(const Graph graph, SmallestGraph(model));
  const std::vector<int32_t> devices = PlaceNodes(placement, graph);
  std::fill(masks.begin(), masks.end(), 0u);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const WeightId id : graph.nodes[i].weights) {
      if (id != kNoId) masks[static_cast<size_t>(id)] |= 1u << devices[i];
    }
  }
  return masks;
}

}  // namespace minfer
