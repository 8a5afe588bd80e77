// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "graph/builder.h"
#include "graph/passes/passes.h"
#include "graph/print.h"
#include "graph/shape_inference.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

WeightInfo Weight(const std::string& name, int64_t ne0, int64_t ne1, int64_t ne2) {
  WeightInfo info;
  info.name = name;
  info.ne0 = ne0;
  info.ne1 = ne1;
  info.ne2 = ne2;
  info.bytes = static_cast<uint64_t>(info.elements()) * 4;
  return info;
}

// Three rows of 8, two of five experts a row, rows of 4 inside an expert.
constexpr int64_t kRows = 3;
enum { kRouter, kUp, kDown, kUpBias, kSharedGate };

const std::vector<WeightInfo>& Weights() {
  static const auto* const weights = new std::vector<WeightInfo>{
      Weight("router", 8, 5, 1), Weight("up", 8, 4, 5), Weight("down", 4, 8, 5),
      Weight("up_bias", 4, 5, 1), Weight("shared_gate", 8, 1, 1)};
  return *weights;
}

Graph MakeGraph(int64_t rows) {
  GraphBuilder b({}, &Weights());
  const ValueId x = b.Input("x", DataType::kF32, {rows, 8});
  const auto choice = b.TopExperts("choice", b.MatMul("scores", x, kRouter), 2, true, 1.0f);
  const auto groups = b.GroupExperts("groups", choice.ids, 5);
  const ValueId up = b.ExpertMatMul("up", x, groups, kUp, kUpBias, 2);
  const ValueId act = b.ClampedSwiglu("act", up, up, 1.702f, 7.0f);
  const ValueId down = b.ExpertMatMul("down", act, groups, kDown, kNoId, 1);
  const ValueId sum = b.CombineExperts("sum", down, choice.weights);
  b.MarkOutput(b.GateRows("gated", sum, b.MatMul("gate", x, kSharedGate)));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

Node& NodeNamed(Graph* graph, std::string_view name) {
  for (Node& node : graph->nodes) {
    if (node.name == name) return node;
  }
  FAIL("no node " << name);
  return graph->nodes[0];
}

TEST_CASE("Experts: shapes follow the number of rows alone", "[graph]") {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, kRows}) {
    const Graph graph = MakeGraph(rows);
    const auto shape = [&graph](const char* name) {
      const Value& value = graph.value(graph.FindValue(name));
      return std::make_pair(value.type, value.shape);
    };
    CHECK(shape("choice") == std::make_pair(DataType::kI32, ValueShape{rows, 2}));
    CHECK(shape("choice:1") == std::make_pair(DataType::kF32, ValueShape{rows, 2}));
    CHECK(shape("groups") == std::make_pair(DataType::kI32, ValueShape{2 * rows, 1}));
    CHECK(shape("groups:1") == std::make_pair(DataType::kI32, ValueShape{5, 1}));
    CHECK(shape("up") == std::make_pair(DataType::kF32, ValueShape{2 * rows, 4}));
    CHECK(shape("down") == std::make_pair(DataType::kF32, ValueShape{2 * rows, 8}));
    CHECK(shape("sum") == std::make_pair(DataType::kF32, ValueShape{rows, 8}));
    CHECK(shape("gated") == std::make_pair(DataType::kF32, ValueShape{rows, 8}));
  }
}

TEST_CASE("Experts: passes leave the block as it is", "[graph]") {
  Graph graph = MakeGraph(kRows);
  const std::string before = PrintJson(graph);
  MF_REQUIRE_OK(RunPasses(&graph));
  CHECK(PrintJson(graph) == before);
}

TEST_CASE("Experts: what does not fit together is INTERNAL, naming node and sizes", "[graph]") {
  struct Case {
    const char* node;
    const char* says;
    std::function<void(Node*)> damage;
  };
  const Case cases[] = {
      {"choice", "6 of 5 experts", [](Node* n) { n->attributes.n_used = 6; }},
      {"choice", "0 of 5 experts", [](Node* n) { n->attributes.n_used = 0; }},
      {"groups", "n_experts is 0", [](Node* n) { n->attributes.n_experts = 0; }},
      {"up", "fan_out is 0", [](Node* n) { n->attributes.fan_out = 0; }},
      {"up", "is 6 x 1, expected 9 x 1", [](Node* n) { n->attributes.fan_out = 3; }},
      {"up", "weight 'router' has 1 matrices, expected 5",
       [](Node* n) { n->weights[0] = kRouter; }},
      {"up", "weight 'down' has rows of 4", [](Node* n) { n->weights[0] = kDown; }},
      {"up", "weight 'router' has rows of 8", [](Node* n) { n->weights[1] = kRouter; }},
      {"up", "weight 'up' has 5 matrices, expected 1", [](Node* n) { n->weights[1] = kUp; }},
      {"up", "has 1 weights", [](Node* n) { n->weights.pop_back(); }},
      {"up", "has 2 inputs, expected 3", [](Node* n) { n->inputs.pop_back(); }},
      {"up", "weight 0 is absent", [](Node* n) { n->weights[0] = kNoId; }},
      {"sum", "expected 48 x 2", [](Node* n) { std::swap(n->inputs[0], n->inputs[1]); }},
      {"gated", "expected 3 x 1", [](Node* n) { n->inputs[1] = n->inputs[0]; }},
      {"scores", "weight 'up' has 5 matrices, expected 1", [](Node* n) { n->weights[0] = kUp; }},
  };
  for (const Case& c : cases) {
    Graph graph = MakeGraph(kRows);
    Node& node = NodeNamed(&graph, c.node);
    c.damage(&node);
    const Status status = InferOutputs(graph, node).status();
    INFO(c.node << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kInternal);
    CHECK(status.name() == c.node);
    CHECK(status.message().find(c.says) != std::string_view::npos);
  }
}

TEST_CASE("Experts: absurd numbers of slots are refused before they are multiplied", "[graph]") {
  Graph graph = MakeGraph(kRows);
  Value& scores = graph.values[static_cast<size_t>(graph.FindValue("scores"))];
  scores.shape = {(int64_t{1} << 31) - 1, (int64_t{1} << 31) - 1};
  CHECK_FALSE(InferOutputs(graph, NodeNamed(&graph, "choice")).ok());
  Value& ids = graph.values[static_cast<size_t>(graph.FindValue("choice"))];
  ids.shape = scores.shape;
  CHECK_FALSE(InferOutputs(graph, NodeNamed(&graph, "groups")).ok());
}

TEST_CASE("Experts: printed with their attributes", "[graph]") {
  const Graph graph = MakeGraph(kRows);
  const std::string json = PrintJson(graph);
  for (const char* text :
       {"\"op\": \"top_experts\"", "\"n_used\": 2, \"normalise\": true, \"factor\": 1",
        "\"op\": \"group_experts\"", "\"n_experts\": 5", "\"op\": \"expert_matmul\"",
        "\"fan_out\": 2", "\"weights\": [\"up\", \"up_bias\"]", "\"weights\": [\"down\", null]",
        "\"activation\": \"clamped_swiglu\", \"alpha\": 1.702, \"limit\": 7",
        "\"op\": \"combine_experts\"", "\"op\": \"gate_rows\""}) {
    INFO(text);
    CHECK(json.find(text) != std::string::npos);
  }
  CHECK(PrintDot(graph).find("up: F32 4 x 8 x 5 experts") != std::string::npos);
}

}  // namespace
}  // namespace minfer
