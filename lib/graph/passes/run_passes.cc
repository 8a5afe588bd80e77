// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/passes.h"

namespace minfer {

Status RunPasses(Graph* graph) {
  if (graph->params.fuse_qkv) MF_RETURN_IF_ERROR(FuseQkv(graph));
  if (graph->params.fuse_gate_up) MF_RETURN_IF_ERROR(FuseGateUp(graph));
  if (graph->params.fuse_rope_store) MF_RETURN_IF_ERROR(FuseRopeStore(graph));
  return ValidateGraph(*graph);
}

}  // namespace minfer
