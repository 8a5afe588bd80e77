// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/executor.h"

#include <utility>

#include "base/str_cat.h"
#include "plan/executor_impl.h"

namespace minfer {
namespace {

Status CheckBindings(const ExecutorBindings& bindings, const Graph& graph) {
  if (bindings.weight_stores.size() != bindings.backends.size() ||
      bindings.kv_layers.size() != bindings.backends.size()) {
    return Status(StatusCode::kInternal, Subsystem::kPlan,
                  StrCat(bindings.backends.size(), " backends with ", bindings.weight_stores.size(),
                         " weight stores and ", bindings.kv_layers.size(), " lists of KV layers"));
  }
  for (const Node& node : graph.nodes) {
    if (node.op != OpKind::kRopeTable) continue;
    const int32_t config = node.attributes.rope_config;
    if (config >= 0 && static_cast<size_t>(config) < bindings.rope_configs.size()) continue;
    return Status(StatusCode::kInternal, Subsystem::kPlan,
                  StrCat("rope_config ", config, " of ", bindings.rope_configs.size()))
        .WithName(node.name);
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExecutionPlan> PlanExecution(const ExecutorBindings& bindings, const Graph& largest,
                                      absl::Span<const int32_t> wanted) {
  MF_RETURN_IF_ERROR(CheckBindings(bindings, largest));
  ExecutionPlan plan;
  MF_ASSIGN_OR_RETURN(plan.schedule, ScheduleGraph(largest, bindings.backends, wanted));
  MF_ASSIGN_OR_RETURN(plan.memory, PlanMemory(largest, plan.schedule, bindings.backends));
  MF_ASSIGN_OR_RETURN(plan.crossings, PlanCrossings(largest, plan.schedule));
  const size_t count = bindings.backends.size();
  plan.sizes.arena_bytes.resize(count, 0);
  plan.sizes.scratch_bytes.resize(count, 0);
  for (size_t b = 0; b < count; ++b) {
    const uint64_t arena = plan.memory.arena_bytes[b];
    if (arena > 0) plan.sizes.arena_bytes[b] = bindings.backends[b]->AllocationBytes(arena);
  }
  for (const Split& split : plan.schedule.splits) {
    const auto b = static_cast<size_t>(split.backend);
    plan.sizes.scratch_bytes[b] = bindings.backends[b]->ScratchBytes(largest);
  }
  plan.sizes.staging_bytes = plan.crossings.staging_bytes;
  return plan;
}

StatusOr<Executor::Sizes> Executor::Measure(const ExecutorBindings& bindings, const Graph& largest,
                                            absl::Span<const int32_t> wanted) {
  MF_ASSIGN_OR_RETURN(const ExecutionPlan plan, PlanExecution(bindings, largest, wanted));
  return plan.sizes;
}

StatusOr<std::unique_ptr<Executor>> Executor::Create(ExecutorBindings bindings, Graph largest,
                                                     const std::vector<int32_t>& wanted) {
  MF_RETURN_IF_ERROR(ValidateGraph(largest));
  MF_ASSIGN_OR_RETURN(ExecutionPlan plan, PlanExecution(bindings, largest, wanted));
  auto executor =
      std::make_unique<ExecutorImpl>(std::move(bindings), std::move(largest), std::move(plan));
  MF_RETURN_IF_ERROR(executor->AllocateAll());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace minfer
