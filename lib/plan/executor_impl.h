// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The executor itself; the world sees executor.h.
#pragma once

#include <memory>
#include <vector>

#include "base/hash_map.h"
#include "base/host_memory.h"
#include "plan/crossings.h"
#include "plan/executor.h"

namespace minfer {

// What is decided about the largest graph of a kind before anything is allocated.
struct ExecutionPlan {
  Schedule schedule;
  MemoryPlan memory;
  CrossingPlan crossings;
  Executor::Sizes sizes;
};

StatusOr<ExecutionPlan> PlanExecution(const ExecutorBindings& bindings, const Graph& largest,
                                      absl::Span<const int32_t> wanted);

class ExecutorImpl final : public Executor {
 public:
  ExecutorImpl(ExecutorBindings bindings, Graph largest, ExecutionPlan plan);
  ~ExecutorImpl() override;

  Status AllocateAll();

  Status Run(const Graph& graph, absl::Span<const HostInput> inputs,
             absl::Span<const HostOutput> outputs, const StepTail* tail) override;
  void SetObserver(NodeObserver* observer) override;
  const Graph& largest() const override { return largest_; }
  void ForgetGraph(uint64_t graph_uid) override;
  ExecutorStatistics statistics() const override { return statistics_; }
  const Schedule& schedule() const override { return plan_.schedule; }

 private:
  // A crossing during a step: enqueued reads are waited for once, at the first consumer.
  struct CrossingState {
    std::shared_ptr<Event> read;
    bool waited = false;
  };

  Status CheckServed(const Graph& graph);
  Status CheckHostValues(const Graph& graph, absl::Span<const HostInput> inputs,
                         absl::Span<const HostOutput> outputs) const;
  Status RunStep(const Graph& graph, absl::Span<const HostInput> inputs,
                 absl::Span<const HostOutput> outputs, const StepTail* tail);
  Status FillInputs(const Graph& graph, absl::Span<const HostInput> inputs);
  Status WriteCrossings(const Graph& graph, size_t split);
  // tail: what may be recorded with the split, or nullptr; told whether it was.
  Status RunSplit(const Graph& graph, size_t split, const StepTail* tail, bool* recorded);
  Status ExecuteNodes(const Graph& graph, const Split& split);
  Status ExecuteNode(const Graph& graph, const Node& node, int32_t backend);
  Status Observe(const NodeCall& call, int32_t on);
  Status ReadCrossings(const Graph& graph, size_t split);
  Status ReadOutputs(const Graph& graph, absl::Span<const HostOutput> outputs);
  // Whether the last split makes the tail's value, and alone.
  bool EndsWith(const Graph& graph, size_t split, const StepTail& tail) const;
  using TailCall = absl::FunctionRef<Status(Backend*, const BufferRange&)>;
  Status RunTail(const Graph& graph, const StepTail& tail, TailCall run);
  // Waits for all backends, also after an error; the first error of theirs.
  Status Drain();

  // The range of a value on the backend that a node runs on; INTERNAL naming both when the value is
  // elsewhere.
  StatusOr<BufferRange> RangeOn(const Graph& graph, ValueId value, int32_t backend,
                                std::string_view node) const;
  Status FindRanges(const Graph& graph, const std::vector<ValueId>& values, int32_t backend,
                    std::string_view node, std::vector<BufferRange>* ranges) const;
  Status FindKvLayer(const Node& node, int32_t backend, const KvLayerBinding** binding) const;
  Backend& backend(int32_t index) const { return *bindings_.backends[static_cast<size_t>(index)]; }

  const ExecutorBindings bindings_;
  const Graph largest_;
  const ExecutionPlan plan_;
  std::vector<char> used_;        // by backend: runs a node
  std::vector<BufferId> arenas_;  // by backend
  HostBuffer staging_;
  HashSet<uint64_t> served_;  // uids of graphs that were found to fit the plan
  std::vector<CrossingState> crossing_states_;
  std::vector<BufferRange> input_ranges_;
  std::vector<BufferRange> output_ranges_;
  std::vector<std::vector<HostWrite>> input_writes_;  // by backend
  NodeObserver* observer_ = nullptr;
  ExecutorStatistics statistics_;
};

}  // namespace minfer
