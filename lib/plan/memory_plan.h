// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where each value lives: an offset in the one arena of each backend. Exact, and a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "backend/backend.h"
#include "graph/graph.h"
#include "plan/scheduler.h"

namespace minfer {

inline constexpr uint64_t kValueAlignment = 64;

// A value has a place on each backend that writes or reads it.
struct ValuePlace {
  int32_t backend = -1;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // room kept for it: its size in the largest graph of the kind
};

struct MemoryPlan {
  std::vector<uint64_t> arena_bytes;            // one a backend
  std::vector<std::vector<ValuePlace>> places;  // one list a value
};

// Places the values of `graph`. An output shares its input's place only where the backend runs the
// node in place, the node is the input's last reader and both are on one backend.
StatusOr<MemoryPlan> PlanMemory(const Graph& graph, const Schedule& schedule,
                                absl::Span<Backend* const> backends);

// True when `graph` has the same nodes and values as the planned one and no value is larger, so
// that the plan of the largest graph serves it.
bool PlanServes(const Graph& planned, const Graph& graph);

}  // namespace minfer
