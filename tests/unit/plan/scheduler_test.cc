// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/scheduler.h"

#include "graph/passes/passes.h"
#include "tests/support/planning_backend.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

using testing::PlanningBackend;

Graph TinyGraph(const testing::TinyTransformer& model) {
  GraphParams params;
  params.prefill_rows = 3;
  params.output_rows = 1;
  StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

bool Mentions(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string_view::npos;
}

TEST_CASE("ScheduleGraph: a wholly placed graph is one split", "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend first("first"), second("second");
  const StatusOr<Schedule> schedule =
      ScheduleGraph(graph, std::vector<Backend*>{&first, &second}, {});
  MF_REQUIRE_OK(schedule);
  REQUIRE(schedule->splits.size() == 1);
  const Split& split = schedule->splits[0];
  CHECK(split.backend == 0);
  CHECK(split.begin == 0);
  CHECK(split.end == static_cast<NodeId>(graph.nodes.size()));
  CHECK(split.inputs.size() == 7);
  for (const SplitInput& input : split.inputs) CHECK(input.from_backend == -1);
}

TEST_CASE("ScheduleGraph: all or nothing, the first backend that runs everything", "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend first("first"), second("second");
  first.Refuse(OpKind::kGatedAct);
  const StatusOr<Schedule> schedule =
      ScheduleGraph(graph, std::vector<Backend*>{&first, &second}, {});
  MF_REQUIRE_OK(schedule);
  REQUIRE(schedule->splits.size() == 1);
  CHECK(schedule->splits[0].backend == 1);
}

TEST_CASE("ScheduleGraph: what no backend runs is named with its weight and the reason", "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend only("only");
  only.Refuse(OpKind::kMatMul);
  const Status status = ScheduleGraph(graph, std::vector<Backend*>{&only}, {}).status();
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.name() == "blk.0.q");
  CHECK(Mentions(status, "backend 'only' cannot run matmul"));
  CHECK(Mentions(status, "weight 'blk.0.attn_q' of type F32"));
  CHECK(Mentions(status, "no kernel for it"));
}

TEST_CASE("ScheduleGraph: splits are runs of one backend with what they take from others",
          "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend first("first"), second("second");
  std::vector<int32_t> wanted(graph.nodes.size(), 0);
  const NodeId cut = graph.value(graph.FindValue("blk.0.ffn_residual")).producer + 1;
  for (size_t i = static_cast<size_t>(cut); i < wanted.size(); ++i) wanted[i] = 1;
  const StatusOr<Schedule> schedule =
      ScheduleGraph(graph, std::vector<Backend*>{&first, &second}, wanted);
  MF_REQUIRE_OK(schedule);
  REQUIRE(schedule->splits.size() == 2);
  CHECK(schedule->splits[0].end == cut);
  CHECK(schedule->splits[1].begin == cut);
  std::vector<std::string> crossing;
  for (const SplitInput& input : schedule->splits[1].inputs) {
    if (input.from_backend == 0) crossing.push_back(graph.value(input.value).name);
  }
  CHECK(crossing == std::vector<std::string>{"blk.0.ffn_residual", "rope_table"});
}

TEST_CASE("ScheduleGraph: a layer's store and attention stay together", "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend first("first"), second("second");
  std::vector<int32_t> wanted(graph.nodes.size(), 0);
  wanted[static_cast<size_t>(graph.value(graph.FindValue("blk.1.attention")).producer)] = 1;
  const Status status =
      ScheduleGraph(graph, std::vector<Backend*>{&first, &second}, wanted).status();
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.name() == "blk.1.attention");
  CHECK(Mentions(status, "stored by 'blk.1.kv_store' on 'first' and read on 'second'"));
}

TEST_CASE("ScheduleGraph: a node wanted where it cannot run is refused, not moved", "[plan]") {
  const testing::TinyTransformer model({});
  const Graph graph = TinyGraph(model);
  PlanningBackend first("first"), second("second");
  second.Refuse(OpKind::kSelectRows);
  std::vector<int32_t> wanted(graph.nodes.size(), 1);
  const std::vector<Backend*> backends = {&first, &second};
  const Status status = ScheduleGraph(graph, backends, wanted).status();
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.name() == "last_rows");
  wanted.pop_back();
  CHECK(ScheduleGraph(graph, backends, wanted).status().code() == StatusCode::kInternal);
  wanted.assign(graph.nodes.size(), 2);
  CHECK(ScheduleGraph(graph, backends, wanted).status().code() == StatusCode::kInternal);
  CHECK(ScheduleGraph(graph, {}, {}).status().code() == StatusCode::kInternal);
}

}  // namespace
}  // namespace minfer
