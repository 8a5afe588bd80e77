// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The executor over real backends: what it takes, what it counts, what it refuses.
#include "plan/executor.h"

#include "graph/passes/passes.h"
#include "plan/executor_impl.h"
#include "tests/conformance/rig.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer::testing {
namespace {

class ExecutorFixture {
 public:
  ExecutorFixture() : tiny_(TinyOptions{}) {
    data_ = MakeModelData(tiny_.weights(), 3);
    data_.rope_configs = tiny_.rope_configs();
    const TinyOptions& o = tiny_.options();
    data_.kv_layers.assign(static_cast<size_t>(o.n_layers), {o.n_kv_heads, o.head_dim, o.head_dim_v,
                                                             KvFormat::kF32, KvFormat::kF32});
  }

  Graph MakeGraph(int32_t rows, uint64_t uid) const {
    GraphParams params;
    params.prefill_rows = rows;
    params.output_rows = 1;
    StatusOr<Graph> graph = tiny_.Build(params);
    MF_REQUIRE_OK(graph);
    MF_REQUIRE_OK(RunPasses(&*graph));
    graph->uid = uid;
    return *std::move(graph);
  }
  // Layer 1 on the second backend.
  static std::vector<int32_t> LayerApart(const Graph& graph) {
    std::vector<int32_t> wanted;
    for (const Node& node : graph.nodes) wanted.push_back(node.name.rfind("blk.1.", 0) == 0);
    return wanted;
  }
  const ModelData& data() const { return data_; }

 private:
  TinyTransformer tiny_;
  ModelData data_;
};

std::vector<Factory> Both() { return {FactoryNamed("deferred"), FactoryNamed("cpu")}; }

TEST_CASE("Executor: takes exactly what Measure says, at creation and never again", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  Rig rig(Both(), fixture.data());
  const std::vector<int32_t> wanted = ExecutorFixture::LayerApart(graph);
  const StatusOr<Executor::Sizes> sizes = Executor::Measure(rig.bindings(), graph, wanted);
  MF_REQUIRE_OK(sizes);
  const auto taken = [&rig](MemoryClass memory_class) {
    return rig.account().Read().of(memory_class).bytes;
  };
  REQUIRE(taken(MemoryClass::kActivations) == 0);
  {
    const auto executor = rig.MakeExecutor(graph, wanted);
    CHECK(taken(MemoryClass::kActivations) == sizes->arena_bytes[1]);
    CHECK(taken(MemoryClass::kScratch) == sizes->scratch_bytes[1]);
    CHECK(taken(MemoryClass::kStaging) == sizes->staging_bytes);
    CHECK(sizes->staging_bytes > 0);
    const uint64_t host_allocations = rig.memory().allocation_count();
    auto& deferred = dynamic_cast<DeferredBackend&>(rig.backend(0));
    const uint64_t allocations = deferred.count(DeferredOp::kAllocate);
    for (int i = 0; i < 4; ++i) {
      MF_REQUIRE_OK(RunStep(executor.get(), graph, MakeInputs(graph, {})));
    }
    CHECK(rig.memory().allocation_count() == host_allocations);
    CHECK(deferred.count(DeferredOp::kAllocate) == allocations);
  }
  CHECK(taken(MemoryClass::kStaging) == 0);
}

TEST_CASE("Executor: values cross once, with one wait each", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  Rig rig(Both(), fixture.data());
  const auto executor = rig.MakeExecutor(graph, ExecutorFixture::LayerApart(graph));
  MF_REQUIRE_OK(RunStep(executor.get(), graph, MakeInputs(graph, {})));
  CHECK(executor->schedule().splits.size() == 3);
  const ExecutorStatistics statistics = executor->statistics();
  CHECK(statistics.graphs_run == 1);
  CHECK(statistics.splits_run == 3);
  // There: the rope table and the residual; back: the residual.
  CHECK(statistics.cross_copies == 3);
  CHECK(statistics.boundary_waits == 3);
}

TEST_CASE("Executor: one backend, one split, nothing crosses", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  for (const Factory& factory : AllFactories()) {
    Rig rig({factory}, fixture.data());
    const auto executor = rig.MakeExecutor(graph, {});
    MF_REQUIRE_OK(RunStep(executor.get(), graph, MakeInputs(graph, {})));
    CHECK(executor->statistics().splits_run == 1);
    CHECK(executor->statistics().cross_copies == 0);
    CHECK(Executor::Measure(rig.bindings(), graph, {})->staging_bytes == 0);
  }
}

TEST_CASE("Executor: the plan of the largest graph serves smaller ones", "[plan]") {
  const ExecutorFixture fixture;
  const Graph largest = fixture.MakeGraph(9, 1);
  Rig rig({FactoryNamed("deferred")}, fixture.data());
  const auto executor = rig.MakeExecutor(largest, {});
  ScalarModel scalar(fixture.data());
  uint64_t uid = 10;
  for (const int32_t rows : {9, 4, 1}) {
    const Graph graph = fixture.MakeGraph(rows, ++uid);
    for (int run = 0; run < 4; ++run) {
      const NamedBytes inputs = MakeInputs(graph, {});
      const StatusOr<NamedBytes> out = RunStep(executor.get(), graph, inputs);
      MF_REQUIRE_OK(out);
      CHECK(*out == scalar.Run(graph, inputs));
    }
    executor->ForgetGraph(uid);
  }
  CHECK(dynamic_cast<DeferredBackend&>(rig.backend(0)).captured_steps() == 0);
  const Graph larger = fixture.MakeGraph(10, 50);
  const Status status = RunStep(executor.get(), larger, MakeInputs(larger, {})).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message().find("not served") != std::string_view::npos);
}

TEST_CASE("Executor: wrong host values are refused by name before anything runs", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  Rig rig({FactoryNamed("deferred")}, fixture.data());
  const auto executor = rig.MakeExecutor(graph, {});
  NamedBytes inputs = MakeInputs(graph, {});
  inputs.erase("cells");
  Status status = RunStep(executor.get(), graph, inputs).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.name() == "cells");
  std::vector<HostInput> host_inputs;
  for (const auto& [name, bytes] : MakeInputs(graph, {})) {
    host_inputs.push_back({graph.FindValue(name), nullptr});
  }
  CHECK(executor->Run(graph, host_inputs, {}).code() == StatusCode::kInternal);
  const HostInput no_input{graph.FindValue("logits"), nullptr};
  CHECK(executor->Run(graph, {no_input}, {}).code() == StatusCode::kInternal);
  CHECK(dynamic_cast<DeferredBackend&>(rig.backend(0)).statistics().nodes_executed == 0);
}

TEST_CASE("Executor: absent pages, settings and staging memory are named", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  Rig rig(Both(), fixture.data());
  const std::vector<int32_t> wanted = ExecutorFixture::LayerApart(graph);
  ExecutorBindings bindings = rig.bindings();
  bindings.kv_layers[0].clear();
  StatusOr<std::unique_ptr<Executor>> executor = Executor::Create(bindings, graph, wanted);
  MF_REQUIRE_OK(executor);
  const Status status = RunStep(executor->get(), graph, MakeInputs(graph, {})).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.name() == "blk.0.kv_store");
  CHECK(status.message().find("layer 0 has no KV pages on 'deferred'") != std::string_view::npos);

  bindings = rig.bindings();
  bindings.rope_configs = {};
  CHECK(Executor::Create(bindings, graph, wanted).status().name() == "rope_table");
  bindings = rig.bindings();
  bindings.host_memory = nullptr;
  CHECK(Executor::Create(bindings, graph, wanted).status().code() == StatusCode::kInternal);
  bindings = rig.bindings();
  bindings.weight_stores.pop_back();
  CHECK(Executor::Create(bindings, graph, wanted).status().code() == StatusCode::kInternal);
}

TEST_CASE("Executor: a buffer off its split's backend is INTERNAL naming both", "[plan]") {
  const ExecutorFixture fixture;
  const Graph graph = fixture.MakeGraph(5, 3);
  Rig rig(Both(), fixture.data());
  StatusOr<ExecutionPlan> plan =
      PlanExecution(rig.bindings(), graph, ExecutorFixture::LayerApart(graph));
  MF_REQUIRE_OK(plan);
  const auto value = static_cast<size_t>(graph.FindValue("blk.1.attn_norm"));
  plan->memory.places[value][0].backend = 0;
  ExecutorImpl executor(rig.bindings(), graph, *std::move(plan));
  MF_REQUIRE_OK(executor.AllocateAll());
  const Status status = RunStep(&executor, graph, MakeInputs(graph, {})).status();
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.name() == "blk.1.attn_norm");
  CHECK(status.message().find("runs on 'cpu' but value 'blk.1.attn_norm' lies on 'deferred'") !=
        std::string_view::npos);
}

}  // namespace
}  // namespace minfer::testing
