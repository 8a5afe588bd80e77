// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What every rewrite needs: who reads a value, and taking nodes out of a graph.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace minfer {

// How often each value is read by nodes; an output counts one more, for the host.
std::vector<int32_t> CountReaders(const Graph& graph);

// The node that computes `value` when it is of kind `op` and nobody else reads the value; else
// kNoId.
NodeId SoleProducer(const Graph& graph, const std::vector<int32_t>& readers, ValueId value,
                    OpKind op);

// Removes the marked nodes and the values that no node writes any more; renumbers what is left,
// in order.
void RemoveNodes(const std::vector<char>& removed, Graph* graph);

}  // namespace minfer
