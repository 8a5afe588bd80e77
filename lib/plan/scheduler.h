// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Decides, before anything runs, which backend executes each node, and cuts the graph into splits.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "backend/backend.h"
#include "graph/graph.h"

namespace minfer {

// A value that a split reads and another backend wrote (or the host: inputs have from = -1).
struct SplitInput {
  ValueId value = kNoId;
  int32_t from_backend = -1;
};

struct Split {
  int32_t backend = 0;
  NodeId begin = 0;  // nodes [begin, end)
  NodeId end = 0;
  std::vector<SplitInput> inputs;
};

struct Schedule {
  std::vector<int32_t> node_backend;  // index into the backends given
  std::vector<Split> splits;
};

// wanted: a backend for each node, or empty for "the first that supports all". A node goes where it
// is wanted. FAILED_PRECONDITION naming the first node (and its weight) that its backend cannot
// run.
StatusOr<Schedule> ScheduleGraph(const Graph& graph, absl::Span<Backend* const> backends,
                                 absl::Span<const int32_t> wanted);

}  // namespace minfer
