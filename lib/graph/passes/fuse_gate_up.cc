// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

namespace minfer {

Status FuseGateUp(Graph* graph) {
  const std::vector<int32_t> readers = CountReaders(*graph);
  std::vector<char> removed(graph->nodes.size(), 0);
  for (Node& node : graph->nodes) {
    if (node.op != OpKind::kGatedAct) continue;
    if (node.attributes.activation == Activation::kClampedSwiglu) continue;
    const NodeId gate = SoleProducer(*graph, readers, node.inputs[0], OpKind::kMatMul);
    const NodeId up = SoleProducer(*graph, readers, node.inputs[1], OpKind::kMatMul);
    if (gate == kNoId || up == kNoId) continue;
    const Node& gate_node = graph->nodes[static_cast<size_t>(gate)];
    const Node& up_node = graph->nodes[static_cast<size_t>(up)];
    if (gate_node.inputs[0] != up_node.inputs[0]) continue;
    // One operation reads the activations in one format, which follows the type.
    if (graph->weight(gate_node.weights[0]).type != graph->weight(up_node.weights[0]).type)
      continue;
    node.op = OpKind::kGatedMatMul;
    node.inputs = gate_node.inputs;
    node.weights = {gate_node.weights[0], up_node.weights[0]};
    removed[static_cast<size_t>(gate)] = 1;
    removed[static_cast<size_t>(up)] = 1;
  }
  RemoveNodes(removed, graph);
  return OkStatus();
}

}  // namespace minfer
