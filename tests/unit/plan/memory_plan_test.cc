// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/memory_plan.h"

#include "graph/builder.h"
#include "graph/passes/passes.h"
#include "plan/liveness.h"
#include "tests/support/plan_checker.h"
#include "tests/support/planning_backend.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

using testing::CheckPlan;
using testing::PlanningBackend;

// x -> a -> b -> c, where a is read again by c; all of 16 x 4.
Graph Chain() {
  GraphBuilder builder({}, nullptr);
  const ValueId x = builder.Input("x", DataType::kF32, {16, 4});
  const ValueId a = builder.Scale("a", x, 2.0f);
  const ValueId b = builder.Softcap("b", a, 3.0f);
  builder.MarkOutput(builder.Add("c", b, a));
  StatusOr<Graph> graph = builder.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

struct Planned {
  Schedule schedule;
  MemoryPlan plan;
};

Planned PlanFor(const Graph& graph, const std::vector<Backend*>& backends,
                const std::vector<int32_t>& wanted) {
  Planned out;
  StatusOr<Schedule> schedule = ScheduleGraph(graph, backends, wanted);
  MF_REQUIRE_OK(schedule);
  out.schedule = *std::move(schedule);
  StatusOr<MemoryPlan> plan = PlanMemory(graph, out.schedule, backends);
  MF_REQUIRE_OK(plan);
  out.plan = *std::move(plan);
  return out;
}

uint64_t OffsetOf(const Graph& graph, const MemoryPlan& plan, const std::string& name) {
  const auto& places = plan.places[static_cast<size_t>(graph.FindValue(name))];
  REQUIRE(places.size() == 1);
  return places[0].offset;
}

TEST_CASE("ComputeLiveness: inputs and outputs live to the end, others to their last reader",
          "[plan]") {
  const Graph graph = Chain();
  const std::vector<LiveRange> ranges = ComputeLiveness(graph);
  const auto range = [&](const char* name) {
    const LiveRange& r = ranges[static_cast<size_t>(graph.FindValue(name))];
    return std::pair(r.first, r.last);
  };
  CHECK(range("x") == std::pair(-1, 3));
  CHECK(range("a") == std::pair(0, 2));
  CHECK(range("b") == std::pair(1, 2));
  CHECK(range("c") == std::pair(2, 3));
}

TEST_CASE("PlanMemory: only the last reader on the same backend shares a place", "[plan]") {
  const Graph graph = Chain();
  PlanningBackend in_place("in place", true), apart("apart", false);
  SECTION("in place: c takes over b, b cannot take over a") {
    const Planned planned = PlanFor(graph, {&in_place}, {});
    CHECK(OffsetOf(graph, planned.plan, "c") == OffsetOf(graph, planned.plan, "b"));
    CHECK(OffsetOf(graph, planned.plan, "b") != OffsetOf(graph, planned.plan, "a"));
    CHECK(planned.plan.arena_bytes == std::vector<uint64_t>{3 * 256});
  }
  SECTION("a backend that does not run in place") {
    const Planned planned = PlanFor(graph, {&apart}, {});
    CHECK(planned.plan.arena_bytes == std::vector<uint64_t>{4 * 256});
  }
  SECTION("a value that another backend reads is not handed on") {
    const Planned planned = PlanFor(graph, {&in_place, &apart}, {0, 0, 1});
    CHECK(planned.plan.places[static_cast<size_t>(graph.FindValue("a"))].size() == 2);
    CHECK(planned.plan.places[static_cast<size_t>(graph.FindValue("b"))].size() == 2);
    CHECK(planned.plan.arena_bytes == std::vector<uint64_t>{3 * 256, 3 * 256});
  }
}

TEST_CASE("PlanMemory: a long chain needs two places, not one a value", "[plan]") {
  WeightInfo square;
  square.name = "w";
  square.ne0 = square.ne1 = 16;
  const std::vector<WeightInfo> weights = {square};
  GraphBuilder builder({}, &weights);
  ValueId x = builder.Input("x", DataType::kF32, {4, 16});
  for (int i = 0; i < 50; ++i) x = builder.MatMul("y" + std::to_string(i), x, 0);
  builder.MarkOutput(x);
  StatusOr<Graph> graph = builder.Finish();
  MF_REQUIRE_OK(graph);
  PlanningBackend backend("b");
  const Planned planned = PlanFor(*graph, {&backend}, {});
  CHECK(planned.plan.arena_bytes == std::vector<uint64_t>{3 * 256});
  CHECK(CheckPlan(*graph, planned.schedule, planned.plan, std::vector<Backend*>{&backend}).empty());
}

TEST_CASE("PlanMemory: random graphs and placements never overlap what is alive", "[plan]") {
  PlanningBackend a("a", true), b("b", true), c("c", false);
  const std::vector<Backend*> backends = {&a, &b, &c};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto random = testing::MakeRandomGraph(seed, 10 + static_cast<int32_t>(seed), 5);
    if (seed % 2 == 0) MF_REQUIRE_OK(RunPasses(&random->graph));
    for (int32_t count = 1; count <= 3; ++count) {
      INFO("seed " << seed << ", backends " << count);
      const std::vector<int32_t> wanted = testing::RandomPlacement(random->graph, count, seed);
      const Planned planned = PlanFor(random->graph, backends, wanted);
      CHECK(CheckPlan(random->graph, planned.schedule, planned.plan, backends) ==
            std::vector<std::string>{});
      const Planned again = PlanFor(random->graph, backends, wanted);
      CHECK(planned.plan.arena_bytes == again.plan.arena_bytes);
    }
  }
}

// The checker itself is checked: plans that break one rule each are caught.
TEST_CASE("CheckPlan: planted violations are found", "[plan]") {
  const Graph graph = Chain();
  PlanningBackend backend("b");
  const std::vector<Backend*> backends = {&backend};
  const Planned planned = PlanFor(graph, backends, {});
  const auto place = [&](MemoryPlan* plan, const char* name) -> ValuePlace& {
    return plan->places[static_cast<size_t>(graph.FindValue(name))][0];
  };
  REQUIRE(CheckPlan(graph, planned.schedule, planned.plan, backends).empty());
  SECTION("in place with a second reader to come") {
    MemoryPlan plan = planned.plan;
    place(&plan, "b").offset = place(&plan, "a").offset;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
  }
  SECTION("an input overwritten") {
    MemoryPlan plan = planned.plan;
    place(&plan, "c").offset = place(&plan, "x").offset;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
  }
  SECTION("partly overlapping") {
    MemoryPlan plan = planned.plan;
    place(&plan, "a").offset = place(&plan, "x").offset + 64;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
  }
  SECTION("outside the arena, unaligned, too small, missing") {
    MemoryPlan plan = planned.plan;
    plan.arena_bytes[0] -= 64;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
    plan = planned.plan;
    place(&plan, "a").offset += 4;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
    plan = planned.plan;
    place(&plan, "a").bytes -= 4;
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
    plan = planned.plan;
    plan.places[static_cast<size_t>(graph.FindValue("b"))].clear();
    CHECK_FALSE(CheckPlan(graph, planned.schedule, plan, backends).empty());
  }
}

TEST_CASE("PlanServes: smaller graphs of the same kind, and no other", "[plan]") {
  const testing::TinyTransformer model({});
  const auto build = [&](int32_t prefill, int32_t outputs) {
    GraphParams params;
    params.prefill_rows = prefill;
    params.output_rows = outputs;
    StatusOr<Graph> graph = model.Build(params);
    MF_REQUIRE_OK(graph);
    return *std::move(graph);
  };
  const Graph largest = build(8, 2);
  CHECK(PlanServes(largest, largest));
  CHECK(PlanServes(largest, build(3, 0)));
  CHECK(PlanServes(largest, build(8, 1)));
  CHECK_FALSE(PlanServes(largest, build(9, 1)));
  CHECK_FALSE(PlanServes(largest, build(3, 3)));
  Graph fused = build(3, 1);
  MF_REQUIRE_OK(RunPasses(&fused));
  CHECK_FALSE(PlanServes(largest, fused));
  Graph other = build(3, 1);
  other.nodes[5].attributes.eps += 1.0f;
  CHECK_FALSE(PlanServes(largest, other));
}

}  // namespace
}  // namespace minfer
