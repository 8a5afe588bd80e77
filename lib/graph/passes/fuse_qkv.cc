// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The three products are found backwards from an attention: its Q, and the K and V of its store.
// Between product and attention there may be biases, norms and rotations; only a bias directly
// after the product goes into the group.
#include <algorithm>
#include <array>
#include <utility>

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

namespace minfer {
namespace {

// One of the three: the product and the bias after it that the group takes over.
struct Projection {
  NodeId matmul = kNoId;
  NodeId bias = kNoId;
};

const Node& NodeAt(const Graph& graph, NodeId id) { return graph.nodes[static_cast<size_t>(id)]; }

bool IsRowwise(OpKind op) {
  return op == OpKind::kRope || op == OpKind::kRmsNorm || op == OpKind::kScale ||
         op == OpKind::kAddBias;
}

Projection FindProjection(const Graph& graph, const std::vector<int32_t>& readers, ValueId value) {
  NodeId after = kNoId;
  for (NodeId at = graph.value(value).producer; at != kNoId; at = graph.value(value).producer) {
    const Node& node = NodeAt(graph, at);
    if (node.op == OpKind::kMatMul) {
      Projection found;
      found.matmul = at;
      const bool has_bias = after != kNoId && NodeAt(graph, after).op == OpKind::kAddBias;
      if (has_bias && readers[static_cast<size_t>(node.outputs[0])] == 1) found.bias = after;
      return found;
    }
    if (!IsRowwise(node.op)) break;
    after = at;
    value = node.inputs[0];
  }
  return Projection();
}

bool CanGroup(const Graph& graph, const std::array<Projection, 3>& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].matmul == kNoId) return false;
    const Node& node = NodeAt(graph, found[i].matmul);
    if (node.inputs[0] != NodeAt(graph, found[0].matmul).inputs[0]) return false;
    for (size_t j = 0; j < i; ++j) {
      if (found[j].matmul == found[i].matmul) return false;
    }
  }
  return true;
}

// The group stands where the first of the three products stood: its input is ready there, and every
// reader comes later.
void Group(const std::array<Projection, 3>& found, std::vector<char>* removed, Graph* graph) {
  Node group;
  group.op = OpKind::kMatMulGroup;
  std::vector<WeightId> biases;
  NodeId first = found[0].matmul;
  for (const Projection& projection : found) {
    const Node& matmul = NodeAt(*graph, projection.matmul);
    const bool has_bias = projection.bias != kNoId;
    const Node& last = has_bias ? NodeAt(*graph, projection.bias) : matmul;
    group.name += group.name.empty() ? matmul.name : "+" + matmul.name;
    group.inputs = matmul.inputs;
    group.weights.push_back(matmul.weights[0]);
    biases.push_back(has_bias ? last.weights[0] : kNoId);
    group.outputs.push_back(last.outputs[0]);
    first = std::min(first, projection.matmul);
    (*removed)[static_cast<size_t>(projection.matmul)] = 1;
    if (has_bias) (*removed)[static_cast<size_t>(projection.bias)] = 1;
  }
  group.weights.insert(group.weights.end(), biases.begin(), biases.end());
  graph->nodes[static_cast<size_t>(first)] = std::move(group);
  (*removed)[static_cast<size_t>(first)] = 0;
}

}  // namespace

Status FuseQkv(Graph* graph) {
  const std::vector<int32_t> readers = CountReaders(*graph);
  std::vector<char> removed(graph->nodes.size(), 0);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node& attention = graph->nodes[i];
    if (attention.op != OpKind::kAttention) continue;
    const Node& store = NodeAt(*graph, graph->value(attention.inputs[1]).producer);
    const std::array<Projection, 3> found = {
        FindProjection(*graph, readers, attention.inputs[0]),
        FindProjection(*graph, readers, store.inputs[0]),
        FindProjection(*graph, readers, store.inputs[1]),
    };
    bool fresh = CanGroup(*graph, found);
    for (const Projection& projection : found) {
      fresh = fresh && !removed[static_cast<size_t>(projection.matmul)];
    }
    if (fresh) Group(found, &removed, graph);
  }
  RemoveNodes(removed, graph);
  return OkStatus();
}

}  // namespace minfer
