// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/plan_checker.h"

#include <algorithm>

namespace minfer::testing {
namespace {

class PlanPlayer {
 public:
  PlanPlayer(const Graph& graph, const Schedule& schedule, const MemoryPlan& plan,
             absl::Span<Backend* const> backends)
      : graph_(graph), schedule_(schedule), plan_(plan), backends_(backends) {
    for (const uint64_t bytes : plan.arena_bytes) {
      owner_.emplace_back((bytes + kValueAlignment - 1) / kValueAlignment, kNoId);
    }
  }

  std::vector<std::string> Play() {
    CheckPlaces();
    if (!faults_.empty()) return faults_;
    ForEachInput(&PlanPlayer::Write);
    for (const Split& split : schedule_.splits) {
      for (const SplitInput& input : split.inputs) {
        if (input.from_backend >= 0 && !Holds(input.value, split.backend)) {
          Write(input.value, split.backend);
        }
      }
      for (NodeId i = split.begin; i < split.end; ++i) PlayNode(i, split.backend);
      ReadWhatCrosses(split);
    }
    ForEachInput(&PlanPlayer::Read);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (!value.is_output) continue;
      Read(static_cast<ValueId>(v), schedule_.node_backend[static_cast<size_t>(value.producer)]);
    }
    return faults_;
  }

 private:
  using Action = void (PlanPlayer::*)(ValueId, int32_t);

  void Fault(ValueId value, const std::string& what) {
    faults_.push_back("value '" + graph_.value(value).name + "' " + what);
  }

  void CheckPlaces() {
    for (size_t v = 0; v < plan_.places.size(); ++v) {
      for (const ValuePlace& place : plan_.places[v]) {
        const uint64_t arena = plan_.arena_bytes[static_cast<size_t>(place.backend)];
        const auto value = static_cast<ValueId>(v);
        if (place.offset % kValueAlignment != 0) Fault(value, "is not aligned");
        if (place.bytes < graph_.values[v].bytes()) Fault(value, "has too small a place");
        if (place.offset + place.bytes > arena) Fault(value, "does not fit its arena");
      }
    }
  }

  const ValuePlace* PlaceOn(ValueId value, int32_t backend) const {
    for (const ValuePlace& place : plan_.places[static_cast<size_t>(value)]) {
      if (place.backend == backend) return &place;
    }
    return nullptr;
  }

  template <typename Visit>
  void ForEachUnit(ValueId value, int32_t backend, const Visit& visit) {
    if (graph_.value(value).type == DataType::kOrder) return;
    const ValuePlace* place = PlaceOn(value, backend);
    if (place == nullptr) {
      Fault(value, "has no place on backend " + std::to_string(backend));
      return;
    }
    const uint64_t first = place->offset / kValueAlignment;
    const uint64_t last = (place->offset + place->bytes + kValueAlignment - 1) / kValueAlignment;
    for (uint64_t unit = first; unit < last; ++unit) {
      visit(&owner_[static_cast<size_t>(backend)][unit]);
    }
  }

  void Write(ValueId value, int32_t backend) {
    ForEachUnit(value, backend, [value](ValueId* owner) { *owner = value; });
  }

  bool Holds(ValueId value, int32_t backend) {
    bool holds = true;
    ForEachUnit(value, backend, [&](ValueId* owner) { holds = holds && *owner == value; });
    return holds;
  }

  void Read(ValueId value, int32_t backend) {
    if (!Holds(value, backend)) Fault(value, "was overwritten before it was read");
  }

  void ForEachInput(Action action) {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].producer != kNoId) continue;
      for (const ValuePlace& place : plan_.places[v]) {
        (this->*action)(static_cast<ValueId>(v), place.backend);
      }
    }
  }

  void PlayNode(NodeId id, int32_t backend) {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    for (const ValueId input : node.inputs) Read(input, backend);
    for (const ValueId output : node.outputs) CheckSharing(node, output, backend);
    for (const ValueId output : node.outputs) Write(output, backend);
  }

  // An output may lie on an input only as a whole, only where the backend runs the node in place,
  // and never on a second output.
  void CheckSharing(const Node& node, ValueId output, int32_t backend) {
    const ValuePlace* to = PlaceOn(output, backend);
    if (to == nullptr) return;
    for (const ValueId other : node.outputs) {
      if (other == output) break;
      const ValuePlace* place = PlaceOn(other, backend);
      if (place != nullptr && Overlap(*to, *place)) Fault(output, "lies on another output");
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValuePlace* from = PlaceOn(node.inputs[i], backend);
      if (from == nullptr || !Overlap(*to, *from)) continue;
      const bool once = std::count(node.inputs.begin(), node.inputs.end(), node.inputs[i]) == 1;
      const bool whole = to->offset == from->offset && to->bytes == from->bytes;
      const bool allowed =
          backends_[static_cast<size_t>(backend)]->CanRunInPlace(graph_, node, static_cast<int>(i));
      if (!once || !whole || !allowed) Fault(output, "lies on an input it must not share");
    }
  }

  static bool Overlap(const ValuePlace& a, const ValuePlace& b) {
    return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
           b.offset < a.offset + a.bytes;
  }

  // Everything that another backend wants of this split is read at its end.
  void ReadWhatCrosses(const Split& split) {
    for (const Split& consumer : schedule_.splits) {
      for (const SplitInput& input : consumer.inputs) {
        const NodeId producer = graph_.value(input.value).producer;
        if (producer >= split.begin && producer < split.end) Read(input.value, split.backend);
      }
    }
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const MemoryPlan& plan_;
  const absl::Span<Backend* const> backends_;
  std::vector<std::vector<ValueId>> owner_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckPlan(const Graph& graph, const Schedule& schedule,
                                   const MemoryPlan& plan, absl::Span<Backend* const> backends) {
  return PlanPlayer(graph, schedule, plan, backends).Play();
}

}  // namespace minfer::testing
