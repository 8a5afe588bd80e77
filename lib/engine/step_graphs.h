// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The graphs of a context by their parameters: built once, kept while they are in use.
#pragma once

#include <cstdint>
#include <list>

#include "base/status.h"
#include "models/architecture.h"
#include "plan/executor.h"

namespace minfer {

struct StepGraph {
  Graph graph;
  StepInputs inputs;
  ValueId logits = kNoId;
};

class StepGraphs {
 public:
  // Graphs kept: decode of each batch size a small server sees, and some prompt tails.
  static constexpr size_t kMaxGraphs = 32;

  StepGraphs(const ModelDescription* model, Executor* executor)
      : model_(model), executor_(executor) {}

  // Valid until the next call.
  StatusOr<const StepGraph*> Get(const GraphParams& params);

  uint64_t built() const { return built_; }
  uint64_t reused() const { return reused_; }

 private:
  const ModelDescription* model_;
  Executor* executor_;
  std::list<StepGraph> graphs_;  // newest use first
  uint64_t next_uid_ = 2;        // 1 is the planned graph
  uint64_t built_ = 0;
  uint64_t reused_ = 0;
};

// The name of the output of every step graph.
StatusOr<ValueId> FindLogits(const Graph& graph);

}  // namespace minfer
