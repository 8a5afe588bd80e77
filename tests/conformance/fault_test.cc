// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Each operation of the deferred backend is made to fail once, at each place it occurs in a row of
// steps with direct, recorded and replayed splits. The failing step reports the fault; run again,
// it gives the bits of an undisturbed row.
#include "graph/passes/passes.h"
#include "tests/conformance/checks.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer::testing {
namespace {

constexpr int32_t kSteps = 5;

// Deferred alone, or a layer on the CPU between two on the deferred backend.
class FaultyModel {
 public:
  explicit FaultyModel(bool mixed) : mixed_(mixed), tiny_(Options()) {
    data_ = MakeModelData(tiny_.weights(), 3);
    data_.rope_configs = tiny_.rope_configs();
    const TinyOptions& o = tiny_.options();
    data_.kv_layers.assign(static_cast<size_t>(o.n_layers), {o.n_kv_heads, o.head_dim, o.head_dim_v,
                                                             KvFormat::kF32, KvFormat::kF32});
    GraphParams params;
    params.decode_rows = 1;
    params.output_rows = 1;
    StatusOr<Graph> graph = tiny_.Build(params);
    MF_REQUIRE_OK(graph);
    MF_REQUIRE_OK(RunPasses(&*graph));
    graph_ = *std::move(graph);
    graph_.uid = 5;
    for (const Node& node : graph_.nodes) {
      wanted_.push_back(mixed && node.name.rfind("blk.1.", 0) == 0 ? 1 : 0);
    }
  }

  const Graph& graph() const { return graph_; }
  const std::vector<int32_t>& wanted() const { return wanted_; }
  size_t deferred_splits() const { return mixed_ ? 2 : 1; }
  std::unique_ptr<Rig> MakeRig() const {
    std::vector<Factory> factories = {FactoryNamed("deferred")};
    if (mixed_) factories.push_back(FactoryNamed("cpu"));
    return std::make_unique<Rig>(factories, data_);
  }
  NamedBytes InputsOf(int32_t step) const {
    StepRows rows;
    rows.first = step;
    rows.seed = static_cast<uint64_t>(step);
    return MakeInputs(graph_, rows);
  }

 private:
  static TinyOptions Options() {
    TinyOptions options;
    options.n_layers = 3;
    return options;
  }

  const bool mixed_;
  TinyTransformer tiny_;
  ModelData data_;
  Graph graph_;
  std::vector<int32_t> wanted_;
};

DeferredBackend& Deferred(Rig* rig) { return dynamic_cast<DeferredBackend&>(rig->backend(0)); }

struct Row {
  std::vector<NamedBytes> outputs;
  int failures = 0;
};

// Runs the steps; one that fails is run again and must then succeed.
Row RunRow(const FaultyModel& model, Executor* executor) {
  Row row;
  for (int32_t step = 0; step < kSteps; ++step) {
    const NamedBytes inputs = model.InputsOf(step);
    StatusOr<NamedBytes> out = RunStep(executor, model.graph(), inputs);
    if (!out.ok()) {
      ++row.failures;
      CHECK(out.status().code() == StatusCode::kUnavailable);
      CHECK(out.status().message().find("planted fault") != std::string_view::npos);
      out = RunStep(executor, model.graph(), inputs);
    }
    MF_REQUIRE_OK(out);
    row.outputs.push_back(*std::move(out));
  }
  return row;
}

void FailEverywhere(const FaultyModel& model, DeferredOp op) {
  const std::unique_ptr<Rig> clean_rig = model.MakeRig();
  const auto clean_executor = clean_rig->MakeExecutor(model.graph(), model.wanted());
  const uint64_t before = Deferred(clean_rig.get()).count(op);
  const Row clean = RunRow(model, clean_executor.get());
  const uint64_t occurrences = Deferred(clean_rig.get()).count(op) - before;
  REQUIRE(clean.failures == 0);
  REQUIRE(occurrences > 0);
  REQUIRE(clean_rig->backend(0).statistics().steps_replayed > 0);
  for (uint64_t n = 1; n <= occurrences; ++n) {
    INFO("occurrence " << n << " of " << occurrences);
    const std::unique_ptr<Rig> rig = model.MakeRig();
    DeferredBackend& backend = Deferred(rig.get());
    const auto executor = rig->MakeExecutor(model.graph(), model.wanted());
    backend.FailNth(op, n);
    const Row row = RunRow(model, executor.get());
    CHECK(row.failures == 1);
    CHECK(row.outputs == clean.outputs);
    CHECK(backend.misuses() == std::vector<std::string>{});
    // Nothing half recorded: one step a split of ours.
    CHECK(backend.captured_steps() <= model.deferred_splits());
  }
}

TEST_CASE("Faults: any operation may fail at any place, and the next run is right",
          "[conformance]") {
  for (const bool mixed : {false, true}) {
    const FaultyModel model(mixed);
    for (const DeferredOp op :
         {DeferredOp::kWrite, DeferredOp::kRead, DeferredOp::kBeginSplit, DeferredOp::kExecute,
          DeferredOp::kEndSplit, DeferredOp::kRun, DeferredOp::kSynchronize}) {
      DYNAMIC_SECTION((mixed ? "mixed" : "alone") << ", operation " << static_cast<int>(op)) {
        FailEverywhere(model, op);
      }
    }
  }
}

TEST_CASE("Faults: an executor that cannot get its memory gives back what it took",
          "[conformance]") {
  const FaultyModel model(true);
  for (uint64_t n = 1; n <= 2; ++n) {
    const std::unique_ptr<Rig> rig = model.MakeRig();
    DeferredBackend& backend = Deferred(rig.get());
    backend.FailNth(DeferredOp::kAllocate, n);
    const Status status = Executor::Create(rig->bindings(), model.graph(), model.wanted()).status();
    CHECK(status.code() == StatusCode::kResourceExhausted);
    const auto executor = rig->MakeExecutor(model.graph(), model.wanted());
    CHECK(RunRow(model, executor.get()).failures == 0);
    CHECK(backend.misuses() == std::vector<std::string>{});
  }
  // Host memory: the CPU's scratch and arena, and the staging.
  for (uint64_t n = 1; n <= 3; ++n) {
    const std::unique_ptr<Rig> rig = model.MakeRig();
    rig->memory().FailNthAllocation(n);
    const Status status = Executor::Create(rig->bindings(), model.graph(), model.wanted()).status();
    INFO("allocation " << n);
    CHECK(status.code() == StatusCode::kResourceExhausted);
    rig->memory().FailNthAllocation(0);
    const auto executor = rig->MakeExecutor(model.graph(), model.wanted());
    CHECK(RunRow(model, executor.get()).failures == 0);
  }
}

TEST_CASE("Faults: a cancelled step says so and the next one is right", "[conformance]") {
  for (const bool mixed : {false, true}) {
    const FaultyModel model(mixed);
    const std::unique_ptr<Rig> clean_rig = model.MakeRig();
    const Row clean = RunRow(model, clean_rig->MakeExecutor(model.graph(), model.wanted()).get());
    const std::unique_ptr<Rig> rig = model.MakeRig();
    const auto executor = rig->MakeExecutor(model.graph(), model.wanted());
    std::atomic<bool> cancelled{true};
    const std::atomic<bool>* const flags[] = {&cancelled};
    rig->backend(0).SetCancelFlags(flags);
    CHECK(RunStep(executor.get(), model.graph(), model.InputsOf(0)).status().code() ==
          StatusCode::kCancelled);
    cancelled = false;
    CHECK(RunRow(model, executor.get()).outputs == clean.outputs);
    rig->backend(0).SetCancelFlags({});
  }
}

}  // namespace
}  // namespace minfer::testing
