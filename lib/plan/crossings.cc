// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/crossings.h"

#include <algorithm>

#include "base/checked_math.h"
#include "plan/memory_plan.h"

namespace minfer {
namespace {

size_t SplitOf(const Schedule& schedule, NodeId node) {
  size_t split = 0;
  while (node >= schedule.splits[split].end) ++split;
  return split;
}

StatusOr<int32_t> AddCrossing(const Graph& graph, ValueId value, CrossingPlan* plan) {
  uint64_t bytes = 0;
  const uint64_t offset = plan->staging_bytes;
  if (!CheckedAlignUp(graph.value(value).bytes(), kValueAlignment, &bytes) ||
      !CheckedAdd(offset, bytes, &plan->staging_bytes)) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kPlan,
                  "staging memory does not fit the address space")
        .WithName(graph.value(value).name);
  }
  plan->crossings.push_back({value, offset});
  return static_cast<int32_t>(plan->crossings.size()) - 1;
}

}  // namespace

StatusOr<CrossingPlan> PlanCrossings(const Graph& graph, const Schedule& schedule) {
  CrossingPlan plan;
  plan.reads_after.resize(schedule.splits.size());
  plan.writes_before.resize(schedule.splits.size());
  std::vector<int32_t> crossing_of(graph.values.size(), -1);
  std::vector<std::vector<int32_t>> present(graph.values.size());  // backends, by value
  for (size_t s = 0; s < schedule.splits.size(); ++s) {
    const Split& split = schedule.splits[s];
    for (const SplitInput& input : split.inputs) {
      const auto v = static_cast<size_t>(input.value);
      if (input.from_backend < 0) continue;
      if (std::count(present[v].begin(), present[v].end(), split.backend) != 0) continue;
      present[v].push_back(split.backend);
      if (crossing_of[v] < 0) {
        MF_ASSIGN_OR_RETURN(crossing_of[v], AddCrossing(graph, input.value, &plan));
        plan.reads_after[SplitOf(schedule, graph.values[v].producer)].push_back(crossing_of[v]);
      }
      plan.writes_before[s].push_back(crossing_of[v]);
    }
  }
  return plan;
}

}  // namespace minfer
