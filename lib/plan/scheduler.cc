// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/scheduler.h"

#include <algorithm>
#include <string>

#include "base/str_cat.h"

namespace minfer {
namespace {

Status Internal(std::string message) {
  return Status(StatusCode::kInternal, Subsystem::kPlan, std::move(message));
}

// " (weight 'a' of type Q2_K)" for each weight of the node.
std::string WeightText(const Graph& graph, const Node& node) {
  std::string text;
  for (const WeightId id : node.weights) {
    if (id == kNoId) continue;
    const WeightInfo& weight = graph.weight(id);
    const ElementTraits* traits = FindElementTraits(weight.type);
    text += StrCat(text.empty() ? " (weight '" : ", '", weight.name, "' of type ",
                   traits == nullptr ? "unknown" : traits->name);
  }
  return text.empty() ? text : text + ")";
}

Status CheckSupport(const Graph& graph, const Backend& backend, const Node& node) {
  const Support support = backend.Supports(graph, node);
  if (support.supported) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, Subsystem::kPlan,
                StrCat("backend '", backend.name(), "' cannot run ", OpName(node.op),
                       WeightText(graph, node), ": ", support.reason))
      .WithName(node.name);
}

Status CheckAll(const Graph& graph, const Backend& backend) {
  for (const Node& node : graph.nodes) MF_RETURN_IF_ERROR(CheckSupport(graph, backend, node));
  return OkStatus();
}

StatusOr<std::vector<int32_t>> FirstThatSupportsAll(const Graph& graph,
                                                    absl::Span<Backend* const> backends) {
  Status first_refusal;
  for (size_t b = 0; b < backends.size(); ++b) {
    Status refusal = CheckAll(graph, *backends[b]);
    if (refusal.ok()) {
      return std::vector<int32_t>(graph.nodes.size(), static_cast<int32_t>(b));
    }
    if (first_refusal.ok()) first_refusal = std::move(refusal);
  }
  return first_refusal;
}

StatusOr<std::vector<int32_t>> AsWanted(const Graph& graph, absl::Span<Backend* const> backends,
                                        absl::Span<const int32_t> wanted) {
  if (wanted.size() != graph.nodes.size()) {
    return Internal(
        StrCat("a backend is given for ", wanted.size(), " nodes of ", graph.nodes.size()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0 || static_cast<size_t>(wanted[i]) >= backends.size()) {
      return Internal(StrCat("backend ", wanted[i], " of ", backends.size()))
          .WithName(graph.nodes[i].name);
    }
    MF_RETURN_IF_ERROR(
        CheckSupport(graph, *backends[static_cast<size_t>(wanted[i])], graph.nodes[i]));
  }
  return std::vector<int32_t>(wanted.begin(), wanted.end());
}

// An order edge has no bytes, so it cannot cross: the store of a layer and its readers share their
// backend's pages.
Status CheckOrderEdges(const Graph& graph, absl::Span<Backend* const> backends,
                       const std::vector<int32_t>& node_backend) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const ValueId input : node.inputs) {
      const Value& value = graph.value(input);
      if (value.type != DataType::kOrder) continue;
      const int32_t from = node_backend[static_cast<size_t>(value.producer)];
      if (from == node_backend[i]) continue;
      return Status(StatusCode::kFailedPrecondition, Subsystem::kPlan,
                    StrCat("layer ", node.attributes.layer, " is stored by '", value.name, "' on '",
                           backends[static_cast<size_t>(from)]->name(), "' and read on '",
                           backends[static_cast<size_t>(node_backend[i])]->name(), "'"))
          .WithName(node.name);
    }
  }
  return OkStatus();
}

void AddInputs(const Graph& graph, const std::vector<int32_t>& node_backend, Split* split) {
  std::vector<char> seen(graph.values.size(), 0);
  for (NodeId i = split->begin; i < split->end; ++i) {
    for (const ValueId id : graph.nodes[static_cast<size_t>(i)].inputs) {
      const Value& value = graph.value(id);
      if (value.type == DataType::kOrder || seen[static_cast<size_t>(id)]) continue;
      seen[static_cast<size_t>(id)] = 1;
      const int32_t from =
          value.producer == kNoId ? -1 : node_backend[static_cast<size_t>(value.producer)];
      if (from != split->backend) split->inputs.push_back({id, from});
    }
  }
}

}  // namespace

StatusOr<Schedule> ScheduleGraph(const Graph& graph, absl::Span<Backend* const> backends,
                                 absl::Span<const int32_t> wanted) {
  if (backends.empty()) return Internal("no backend given");
  Schedule schedule;
  if (wanted.empty()) {
    MF_ASSIGN_OR_RETURN(schedule.node_backend, FirstThatSupportsAll(graph, backends));
  } else {
    MF_ASSIGN_OR_RETURN(schedule.node_backend, AsWanted(graph, backends, wanted));
  }
  MF_RETURN_IF_ERROR(CheckOrderEdges(graph, backends, schedule.node_backend));
  const auto end = static_cast<NodeId>(graph.nodes.size());
  for (NodeId begin = 0; begin < end;) {
    Split split;
    split.backend = schedule.node_backend[static_cast<size_t>(begin)];
    split.begin = begin;
    split.end = begin;
    while (split.end < end &&
           schedule.node_backend[static_cast<size_t>(split.end)] == split.backend) {
      ++split.end;
    }
    AddInputs(graph, schedule.node_backend, &split);
    begin = split.end;
    schedule.splits.push_back(std::move(split));
  }
  return schedule;
}

}  // namespace minfer
