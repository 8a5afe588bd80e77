// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rewrite.h"

#include <utility>

namespace minfer {

std::vector<int32_t> CountReaders(const Graph& graph) {
  std::vector<int32_t> readers(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) ++readers[static_cast<size_t>(input)];
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    if (graph.values[i].is_output) ++readers[i];
  }
  return readers;
}

NodeId SoleProducer(const Graph& graph, const std::vector<int32_t>& readers, ValueId value,
                    OpKind op) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoId || readers[static_cast<size_t>(value)] != 1) return kNoId;
  return graph.nodes[static_cast<size_t>(producer)].op == op ? producer : kNoId;
}

void RemoveNodes(const std::vector<char>& removed, Graph* graph) {
  std::vector<Node> nodes;
  std::vector<NodeId> producer(graph->values.size(), kNoId);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (removed[i]) continue;
    for (const ValueId output : graph->nodes[i].outputs) {
      producer[static_cast<size_t>(output)] = static_cast<NodeId>(nodes.size());
    }
    nodes.push_back(std::move(graph->nodes[i]));
  }
  std::vector<Value> values;
  std::vector<ValueId> renumbered(graph->values.size(), kNoId);
  for (size_t i = 0; i < graph->values.size(); ++i) {
    const bool is_input = graph->values[i].producer == kNoId;
    if (!is_input && producer[i] == kNoId) continue;
    renumbered[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph->values[i]));
    values.back().producer = producer[i];
  }
  for (Node& node : nodes) {
    for (ValueId& id : node.inputs) id = renumbered[static_cast<size_t>(id)];
    for (ValueId& id : node.outputs) id = renumbered[static_cast<size_t>(id)];
  }
  graph->nodes = std::move(nodes);
  graph->values = std::move(values);
}

}  // namespace minfer
