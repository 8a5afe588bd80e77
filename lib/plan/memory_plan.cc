// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/memory_plan.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/str_cat.h"
#include "plan/liveness.h"

namespace minfer {
namespace {

// The stay of a value on one backend, in node indices, both ends included. Two stays whose indices
// meet must not share bytes, unless one node hands its buffer on.
struct Stay {
  ValueId value = kNoId;
  int32_t backend = -1;
  int32_t first = -1;
  int32_t last = -1;
  int32_t block = -1;
};

// One piece of an arena: a stay, or several that hand the buffer on from node to node.
struct Block {
  int32_t backend = -1;
  int32_t first = 0;
  int32_t last = 0;
  uint64_t bytes = 0;  // a multiple of the alignment
  uint64_t offset = 0;
};

Status TooLarge(const Value& value) {
  return Status(StatusCode::kResourceExhausted, Subsystem::kPlan,
                StrCat("a value of ", value.shape.rows, " x ", value.shape.cols,
                       " does not fit an arena"))
      .WithName(value.name);
}

class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, const Schedule& schedule, absl::Span<Backend* const> backends)
      : graph_(graph),
        schedule_(schedule),
        backends_(backends),
        stays_of_(graph.values.size()),
        arena_bytes_(backends.size(), 0) {}

  StatusOr<MemoryPlan> Plan() {
    CollectStays();
    MF_RETURN_IF_ERROR(JoinInPlace());
    MF_RETURN_IF_ERROR(PlaceBlocks());
    MemoryPlan plan;
    plan.arena_bytes = arena_bytes_;
    plan.places.resize(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      for (const size_t s : stays_of_[v]) {
        const Block& block = blocks_[static_cast<size_t>(stays_[s].block)];
        plan.places[v].push_back({stays_[s].backend, block.offset, graph_.values[v].bytes()});
      }
    }
    return plan;
  }

 private:
  Stay& StayOn(ValueId value, int32_t backend) {
    std::vector<size_t>& stays = stays_of_[static_cast<size_t>(value)];
    for (const size_t s : stays) {
      if (stays_[s].backend == backend) return stays_[s];
    }
    stays.push_back(stays_.size());
    Stay stay;
    stay.value = value;
    stay.backend = backend;
    stay.first = stay.last = -1;
    stays_.push_back(stay);
    return stays_.back();
  }

  // Where and when each value must lie. What crosses is read at the end of the split that computes
  // it and written just before the first split that wants it.
  void CollectStays() {
    const std::vector<LiveRange> liveness = ComputeLiveness(graph_);
    const auto end = static_cast<int32_t>(graph_.nodes.size());
    for (const Split& split : schedule_.splits) {
      for (const SplitInput& input : split.inputs) {
        const size_t known = stays_of_[static_cast<size_t>(input.value)].size();
        Stay& stay = StayOn(input.value, split.backend);
        const bool is_new = stays_of_[static_cast<size_t>(input.value)].size() > known;
        if (is_new) stay.first = input.from_backend < 0 ? -1 : split.begin;
        if (input.from_backend < 0) stay.last = end;
      }
      for (NodeId i = split.begin; i < split.end; ++i) {
        const Node& node = graph_.nodes[static_cast<size_t>(i)];
        for (const ValueId input : node.inputs) {
          if (graph_.value(input).type == DataType::kOrder) continue;
          Stay& stay = StayOn(input, split.backend);
          stay.last = std::max(stay.last, i);
        }
        for (const ValueId output : node.outputs) {
          if (graph_.value(output).type == DataType::kOrder) continue;
          Stay& stay = StayOn(output, split.backend);
          stay.first = i;
          stay.last = graph_.value(output).is_output ? end : i;
        }
      }
    }
    for (const Split& split : schedule_.splits) {
      for (const SplitInput& input : split.inputs) {
        if (input.from_backend < 0) continue;
        Stay& home = StayOn(input.value, input.from_backend);
        home.last = std::max(home.last, EndOfSplit(home.first));
      }
    }
  }

  int32_t EndOfSplit(NodeId node) const {
    for (const Split& split : schedule_.splits) {
      if (node >= split.begin && node < split.end) return split.end - 1;
    }
    return node;
  }

  // Whether `node` may write its output over the stay of this input.
  bool MayHandOn(NodeId id, const Node& node, size_t input) {
    const Value& from = graph_.value(node.inputs[input]);
    const Value& to = graph_.value(node.outputs[0]);
    if (from.type == DataType::kOrder || to.type == DataType::kOrder) return false;
    if (from.producer == kNoId || from.is_output) return false;
    if (from.type != to.type || from.shape != to.shape) return false;
    if (std::count(node.inputs.begin(), node.inputs.end(), node.inputs[input]) != 1) return false;
    const std::vector<size_t>& stays = stays_of_[static_cast<size_t>(node.inputs[input])];
    const int32_t backend = schedule_.node_backend[static_cast<size_t>(id)];
    if (stays.size() != 1 || stays_[stays[0]].backend != backend) return false;
    if (stays_[stays[0]].last != id) return false;
    return backends_[static_cast<size_t>(backend)]->CanRunInPlace(graph_, node,
                                                                  static_cast<int>(input));
  }

  Status JoinInPlace() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      const Node& node = graph_.nodes[static_cast<size_t>(id)];
      if (node.outputs.size() != 1 || graph_.value(node.outputs[0]).type == DataType::kOrder) {
        continue;
      }
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        if (!MayHandOn(id, node, input)) continue;
        Stay& from = stays_[stays_of_[static_cast<size_t>(node.inputs[input])][0]];
        MF_RETURN_IF_ERROR(EnsureBlock(&from));
        const int32_t backend = from.backend;
        const int32_t block = from.block;
        Stay& to = StayOn(node.outputs[0], backend);
        to.block = block;
        Block& shared = blocks_[static_cast<size_t>(block)];
        shared.last = std::max(shared.last, to.last);
        break;
      }
    }
    for (Stay& stay : stays_) MF_RETURN_IF_ERROR(EnsureBlock(&stay));
    return OkStatus();
  }

  Status EnsureBlock(Stay* stay) {
    if (stay->block >= 0) return OkStatus();
    Block block;
    block.backend = stay->backend;
    block.first = stay->first;
    block.last = stay->last;
    const Value& value = graph_.value(stay->value);
    if (!CheckedAlignUp(value.bytes(), kValueAlignment, &block.bytes)) return TooLarge(value);
    stay->block = static_cast<int32_t>(blocks_.size());
    blocks_.push_back(block);
    return OkStatus();
  }

  // Large blocks first, each into the smallest gap that holds it.
  Status PlaceBlocks() {
    std::vector<size_t> order(blocks_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      if (blocks_[a].bytes != blocks_[b].bytes) return blocks_[a].bytes > blocks_[b].bytes;
      if (blocks_[a].first != blocks_[b].first) return blocks_[a].first < blocks_[b].first;
      return a < b;
    });
    std::vector<std::vector<size_t>> placed(backends_.size());  // by offset
    for (const size_t i : order) {
      Block& block = blocks_[i];
      std::vector<size_t>& neighbours = placed[static_cast<size_t>(block.backend)];
      block.offset = BestOffset(block, neighbours);
      uint64_t end = 0;
      if (!CheckedAdd(block.offset, block.bytes, &end)) {
        return Status(StatusCode::kResourceExhausted, Subsystem::kPlan,
                      StrCat("a block of ", block.bytes, " bytes does not fit an arena"))
            .WithBytes(block.bytes, 0);
      }
      uint64_t& arena = arena_bytes_[static_cast<size_t>(block.backend)];
      arena = std::max(arena, end);
      const auto by_offset = [this](size_t a, size_t b) {
        return blocks_[a].offset < blocks_[b].offset;
      };
      neighbours.insert(std::upper_bound(neighbours.begin(), neighbours.end(), i, by_offset), i);
    }
    return OkStatus();
  }

  uint64_t BestOffset(const Block& block, const std::vector<size_t>& by_offset) const {
    uint64_t free_from = 0;
    uint64_t best_gap = UINT64_MAX;
    uint64_t best = UINT64_MAX;
    for (const size_t i : by_offset) {
      const Block& other = blocks_[i];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset > free_from) {
        const uint64_t gap = other.offset - free_from;
        if (gap >= block.bytes && gap < best_gap) {
          best_gap = gap;
          best = free_from;
        }
      }
      free_from = std::max(free_from, other.offset + other.bytes);
    }
    return best == UINT64_MAX ? free_from : best;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const absl::Span<Backend* const> backends_;
  std::vector<Stay> stays_;
  std::vector<std::vector<size_t>> stays_of_;  // by value
  std::vector<Block> blocks_;
  std::vector<uint64_t> arena_bytes_;
};

bool SameNode(const Node& a, const Node& b) {
  return a.op == b.op && a.attributes == b.attributes && a.inputs == b.inputs &&
         a.weights == b.weights && a.outputs == b.outputs && a.name == b.name;
}

bool Fits(const Value& planned, const Value& value) {
  return planned.type == value.type && planned.producer == value.producer &&
         planned.is_output == value.is_output && value.bytes() <= planned.bytes() &&
         planned.name == value.name;
}

}  // namespace

StatusOr<MemoryPlan> PlanMemory(const Graph& graph, const Schedule& schedule,
                                absl::Span<Backend* const> backends) {
  return MemoryPlanner(graph, schedule, backends).Plan();
}

bool PlanServes(const Graph& planned, const Graph& graph) {
  return std::equal(planned.nodes.begin(), planned.nodes.end(), graph.nodes.begin(),
                    graph.nodes.end(), SameNode) &&
         std::equal(planned.values.begin(), planned.values.end(), graph.values.begin(),
                    graph.values.end(), Fits);
}

}  // namespace minfer
