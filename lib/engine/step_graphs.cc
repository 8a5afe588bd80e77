// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/step_graphs.h"

#include <iterator>
#include <utility>

namespace minfer {

StatusOr<ValueId> FindLogits(const Graph& graph) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].is_output) return static_cast<ValueId>(id);
  }
  return Status(StatusCode::kInternal, Subsystem::kEngine, "the step graph has no output");
}

StatusOr<const StepGraph*> StepGraphs::Get(const GraphParams& params) {
  for (auto it = graphs_.begin(); it != graphs_.end(); ++it) {
    if (!(it->graph.params == params)) continue;
    graphs_.splice(graphs_.begin(), graphs_, it);
    ++reused_;
    return const_cast<const StepGraph*>(&graphs_.front());
  }
  StepGraph step;
  MF_ASSIGN_OR_RETURN(step.graph, BuildStepGraph(*model_, params, &step.inputs));
  step.graph.uid = next_uid_++;
  MF_ASSIGN_OR_RETURN(step.logits, FindLogits(step.graph));
  graphs_.push_front(std::move(step));
  ++built_;
  if (graphs_.size() > kMaxGraphs) {
    executor_->ForgetGraph(graphs_.back().graph.uid);
    graphs_.pop_back();
  }
  return const_cast<const StepGraph*>(&graphs_.front());
}

}  // namespace minfer
