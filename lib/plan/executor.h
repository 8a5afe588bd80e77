// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Runs planned graphs: fills inputs, walks the splits with retire, copy, execute at each boundary,
// and reads outputs. One thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "backend/backend.h"
#include "graph/graph.h"
#include "plan/memory_plan.h"
#include "plan/node_observer.h"
#include "plan/scheduler.h"

namespace minfer {

class HostMemory;

// What nodes read besides values. What it points at outlives the executor.
struct ExecutorBindings {
  std::vector<Backend*> backends;
  std::vector<const WeightStore*> weight_stores;       // one a backend
  std::vector<std::vector<KvLayerBinding>> kv_layers;  // [backend][layer]; unused ones invalid
  absl::Span<const RopeConfig> rope_configs;
  HostMemory* host_memory = nullptr;  // staging; may be null where one backend runs everything
};

struct HostInput {
  ValueId value = kNoId;
  const void* data = nullptr;  // value.bytes() bytes
};

struct HostOutput {
  ValueId value = kNoId;
  void* data = nullptr;  // value.bytes() bytes
};

// What is enqueued behind a step's nodes, before anything is waited for: told where a value lies.
// `run` may be recorded with the split that makes the value, where that is the last one; `after`
// comes behind all splits.
struct StepTail {
  ValueId value = kNoId;
  absl::FunctionRef<Status(Backend*, const BufferRange&)> run;
  absl::FunctionRef<Status(Backend*, const BufferRange&)> after;
};

struct ExecutorStatistics {
  uint64_t graphs_run = 0;
  uint64_t splits_run = 0;
  uint64_t cross_copies = 0;    // values that crossed a split boundary
  uint64_t boundary_waits = 0;  // waits at a consumer's first read
};

class Executor {
 public:
  // `largest` is planned; its arenas (MemoryClass::kActivations), the scratch of the backends that
  // run nodes (Backend::ReserveScratch) and the staging memory for values that cross backends
  // (MemoryClass::kStaging) are taken now and only now. `wanted` as ScheduleGraph takes it.
  static StatusOr<std::unique_ptr<Executor>> Create(ExecutorBindings bindings, Graph largest,
                                                    const std::vector<int32_t>& wanted);
  virtual ~Executor() = default;

  // Bytes that Create takes: arenas and scratch by backend, then staging.
  struct Sizes {
    std::vector<uint64_t> arena_bytes;
    std::vector<uint64_t> scratch_bytes;
    uint64_t staging_bytes = 0;
  };
  static StatusOr<Sizes> Measure(const ExecutorBindings& bindings, const Graph& largest,
                                 absl::Span<const int32_t> wanted);

  // Runs a graph that the plan serves (INTERNAL otherwise). Every input that a node reads must be
  // given. Outputs are complete on return, and no backend holds unfinished work of the step but
  // copies of its tail, after an error either. On an error nothing of the step may be used; the
  // executor stays usable.
  virtual Status Run(const Graph& graph, absl::Span<const HostInput> inputs,
                     absl::Span<const HostOutput> outputs, const StepTail* tail = nullptr) = 0;
  // Told of every node from now on; nullptr: nobody. It outlives the executor or the next call.
  virtual void SetObserver(NodeObserver* observer) = 0;
  virtual const Graph& largest() const = 0;
  virtual void ForgetGraph(uint64_t graph_uid) = 0;
  virtual ExecutorStatistics statistics() const = 0;
  virtual const Schedule& schedule() const = 0;
};

}  // namespace minfer
