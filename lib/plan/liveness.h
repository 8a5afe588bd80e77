// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// When each value of a graph is alive, in node indices.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace minfer {

// Alive from the end of node `first` to the end of node `last`. Inputs have first -1; outputs have
// last = number of nodes.
struct LiveRange {
  int32_t first = -1;
  int32_t last = -1;
};

// One range a value. Inputs live to the end, at addresses fixed for the graph's life.
std::vector<LiveRange> ComputeLiveness(const Graph& graph);

}  // namespace minfer
