// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Rewrites of a graph, one a file. Each keeps the answer bit for bit, on any backend that supports
// both forms, and each is switched by its flag in GraphParams.
#pragma once

#include "graph/graph.h"

namespace minfer {

// kMatMul (and kAddBias) of one input into Q, K and V -> one kMatMulGroup.
Status FuseQkv(Graph* graph);
// kMatMul twice, with weights of one type, and kGatedAct -> kGatedMatMul.
Status FuseGateUp(Graph* graph);
// kRope of K, only used by kKvStore -> kRopeKvStore.
Status FuseRopeStore(Graph* graph);

// Runs the passes that graph->params asks for, then ValidateGraph.
Status RunPasses(Graph* graph);

}  // namespace minfer
