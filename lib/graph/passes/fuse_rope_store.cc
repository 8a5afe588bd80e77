// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

namespace minfer {

Status FuseRopeStore(Graph* graph) {
  const std::vector<int32_t> readers = CountReaders(*graph);
  std::vector<char> removed(graph->nodes.size(), 0);
  for (Node& store : graph->nodes) {
    if (store.op != OpKind::kKvStore) continue;
    const NodeId rope = SoleProducer(*graph, readers, store.inputs[0], OpKind::kRope);
    if (rope == kNoId) continue;
    const Node& rotation = graph->nodes[static_cast<size_t>(rope)];
    if (rotation.attributes.n_heads != store.attributes.n_kv_heads ||
        rotation.attributes.head_dim != store.attributes.head_dim) {
      continue;
    }
    store.op = OpKind::kRopeKvStore;
    store.attributes.rope_dim = rotation.attributes.rope_dim;
    store.attributes.rope_style = rotation.attributes.rope_style;
    store.inputs = {rotation.inputs[0], store.inputs[1], rotation.inputs[1], store.inputs[2]};
    removed[static_cast<size_t>(rope)] = 1;
  }
  RemoveNodes(removed, graph);
  return OkStatus();
}

}  // namespace minfer
