// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>

#include "base/str_cat.h"
#include "graph/shape_inference.h"

namespace minfer {
namespace {

Status Internal(const Node& node, std::string message) {
  return Status(StatusCode::kInternal, Subsystem::kGraph, std::move(message)).WithName(node.name);
}

Status CheckIds(const Graph& graph, const Node& node) {
  const auto value_count = static_cast<ValueId>(graph.values.size());
  const WeightId weight_count =
      graph.weights == nullptr ? 0 : static_cast<WeightId>(graph.weights->size());
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *ids) {
      if (id < 0 || id >= value_count) {
        return Internal(node, StrCat("value id ", id, " out of range, ", value_count, " values"));
      }
    }
  }
  for (const WeightId id : node.weights) {
    if (id < kNoId || id >= weight_count) {
      return Internal(node, StrCat("weight id ", id, " out of range, ", weight_count, " weights"));
    }
  }
  return OkStatus();
}

// Inputs come from before the node, outputs are its own and new.
Status CheckOrder(const Graph& graph, NodeId id, std::vector<char>* ready) {
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  for (const ValueId input : node.inputs) {
    if (!(*ready)[static_cast<size_t>(input)]) {
      return Internal(node, StrCat("reads value '", graph.value(input).name, "' before node ",
                                   graph.value(input).producer, " computes it"));
    }
  }
  for (const ValueId output : node.outputs) {
    if (graph.value(output).producer != id) {
      return Internal(node, StrCat("writes value '", graph.value(output).name,
                                   "' whose producer is node ", graph.value(output).producer));
    }
    if ((*ready)[static_cast<size_t>(output)]) {
      return Internal(node, StrCat("computes value '", graph.value(output).name, "' again"));
    }
    (*ready)[static_cast<size_t>(output)] = 1;
  }
  return OkStatus();
}

Status CheckShapes(const Graph& graph, const Node& node) {
  MF_ASSIGN_OR_RETURN(const std::vector<InferredValue> inferred, InferOutputs(graph, node));
  if (inferred.size() != node.outputs.size()) {
    return Internal(node,
                    StrCat("has ", node.outputs.size(), " outputs, expected ", inferred.size()));
  }
  for (size_t i = 0; i < inferred.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    if (value.type != inferred[i].type || value.shape != inferred[i].shape) {
      return Internal(
          node, StrCat("output '", value.name, "' is ", value.shape.rows, " x ", value.shape.cols,
                       ", expected ", inferred[i].shape.rows, " x ", inferred[i].shape.cols));
    }
  }
  return OkStatus();
}

Status CheckValues(const Graph& graph, const std::vector<char>& ready) {
  std::vector<std::string_view> names;
  names.reserve(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    const auto fail = [&value](std::string message) -> Status {
      return Status(StatusCode::kInternal, Subsystem::kGraph, std::move(message))
          .WithName(value.name);
    };
    if (!ready[i]) {
      return fail(StrCat("value is never computed, its producer is node ", value.producer));
    }
    if (value.shape.rows < 0 || value.shape.cols < 0) {
      return fail(StrCat("value of ", value.shape.rows, " x ", value.shape.cols));
    }
    if (value.is_output && (value.producer == kNoId || value.type == DataType::kOrder)) {
      return fail("an input or an order edge cannot be an output");
    }
    names.push_back(value.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return Status(StatusCode::kInternal, Subsystem::kGraph, "two values have this name")
        .WithName(*twice);
  }
  return OkStatus();
}

}  // namespace

ValueId Graph::FindValue(std::string_view name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return static_cast<ValueId>(i);
  }
  return kNoId;
}

Status ValidateGraph(const Graph& graph) {
  std::vector<char> ready(graph.values.size(), 0);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    ready[i] = graph.values[i].producer == kNoId ? 1 : 0;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    MF_RETURN_IF_ERROR(CheckIds(graph, graph.nodes[i]));
    MF_RETURN_IF_ERROR(CheckOrder(graph, static_cast<NodeId>(i), &ready));
    MF_RETURN_IF_ERROR(CheckShapes(graph, graph.nodes[i]));
  }
  return CheckValues(graph, ready);
}

}  // namespace minfer
