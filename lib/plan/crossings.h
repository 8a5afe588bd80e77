// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The values that go from one backend to another: when each is read from its producer and written
// to its consumers, and where it waits in between.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plan/scheduler.h"

namespace minfer {

// Each crossing has staging bytes of its own for the whole step: a read that is still under way
// never meets another value's bytes.
struct Crossing {
  ValueId value = kNoId;
  uint64_t staging_offset = 0;
};

struct CrossingPlan {
  std::vector<Crossing> crossings;
  std::vector<std::vector<int32_t>> reads_after;    // by split: crossings whose value it computed
  std::vector<std::vector<int32_t>> writes_before;  // by split: crossings its backend lacks so far
  uint64_t staging_bytes = 0;
};

// RESOURCE_EXHAUSTED when the staging bytes cannot be counted.
StatusOr<CrossingPlan> PlanCrossings(const Graph& graph, const Schedule& schedule);

}  // namespace minfer
