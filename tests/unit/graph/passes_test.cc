// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/passes.h"

#include "graph/builder.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

GraphParams Unfused() {
  GraphParams params;
  params.prefill_rows = 3;
  params.output_rows = 1;
  params.fuse_qkv = params.fuse_gate_up = params.fuse_rope_store = false;
  return params;
}

Graph Built(const testing::TinyTransformer& model, const GraphParams& params) {
  StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  MF_REQUIRE_OK(RunPasses(&*graph));
  return *std::move(graph);
}

int Count(const Graph& graph, OpKind op) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.op == op ? 1 : 0;
  return count;
}

const Node* FindNode(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

TEST_CASE("RunPasses: each flag switches its fusion alone", "[graph]") {
  testing::TinyOptions options;
  options.bias = true;
  const testing::TinyTransformer model(options);
  const Graph plain = Built(model, Unfused());
  CHECK(Count(plain, OpKind::kMatMul) == 2 * 7 + 1);
  CHECK(Count(plain, OpKind::kMatMulGroup) == 0);

  GraphParams params = Unfused();
  params.fuse_qkv = true;
  const Graph qkv = Built(model, params);
  CHECK(Count(qkv, OpKind::kMatMulGroup) == 2);
  CHECK(Count(qkv, OpKind::kMatMul) == 2 * 4 + 1);
  CHECK(Count(qkv, OpKind::kAddBias) == 0);
  CHECK(Count(qkv, OpKind::kGatedAct) == 2);
  CHECK(Count(qkv, OpKind::kKvStore) == 2);

  params = Unfused();
  params.fuse_gate_up = true;
  const Graph gated = Built(model, params);
  CHECK(Count(gated, OpKind::kGatedMatMul) == 2);
  CHECK(Count(gated, OpKind::kGatedAct) == 0);
  CHECK(Count(gated, OpKind::kMatMul) == 2 * 5 + 1);
  CHECK(Count(gated, OpKind::kMatMulGroup) == 0);

  params = Unfused();
  params.fuse_rope_store = true;
  const Graph stored = Built(model, params);
  CHECK(Count(stored, OpKind::kRopeKvStore) == 2);
  CHECK(Count(stored, OpKind::kKvStore) == 0);
  CHECK(Count(stored, OpKind::kRope) == 2);
}

TEST_CASE("FuseQkv: the group holds weights, then biases, and keeps the value names", "[graph]") {
  testing::TinyOptions options;
  options.bias = true;
  const testing::TinyTransformer model(options);
  GraphParams params = Unfused();
  params.fuse_qkv = true;
  const Graph graph = Built(model, params);
  const Node* group = FindNode(graph, "blk.1.q+blk.1.k+blk.1.v");
  REQUIRE(group != nullptr);
  CHECK(group->weights ==
        std::vector<WeightId>{
            model.FindWeight("blk.1.attn_q"), model.FindWeight("blk.1.attn_k"),
            model.FindWeight("blk.1.attn_v"), model.FindWeight("blk.1.attn_q_bias"),
            model.FindWeight("blk.1.attn_k_bias"), model.FindWeight("blk.1.attn_v_bias")});
  CHECK(group->outputs == std::vector<ValueId>{graph.FindValue("blk.1.q_bias"),
                                               graph.FindValue("blk.1.k_bias"),
                                               graph.FindValue("blk.1.v_bias")});
  CHECK(graph.FindValue("blk.1.q") == kNoId);
}

TEST_CASE("RunPasses: Q and K norms between product and rotation do not hinder", "[graph]") {
  testing::TinyOptions options;
  options.qk_norm = true;
  options.rope_style = RopeStyle::kNeox;
  const testing::TinyTransformer model(options);
  GraphParams params = Unfused();
  params.fuse_qkv = params.fuse_gate_up = params.fuse_rope_store = true;
  const Graph graph = Built(model, params);
  const Node* group = FindNode(graph, "blk.0.q+blk.0.k+blk.0.v");
  REQUIRE(group != nullptr);
  CHECK(group->weights[3] == kNoId);
  const Node* store = FindNode(graph, "blk.0.kv_store");
  REQUIRE(store != nullptr);
  CHECK(store->op == OpKind::kRopeKvStore);
  CHECK(store->attributes.rope_style == RopeStyle::kNeox);
  CHECK(store->attributes.rope_dim == 4);
  CHECK(store->inputs ==
        std::vector<ValueId>{graph.FindValue("blk.0.k_norm"), graph.FindValue("blk.0.v"),
                             graph.FindValue("rope_table"), graph.FindValue("cells")});
}

// Each fusion must leave alone what somebody else still reads.
TEST_CASE("RunPasses: a value with another reader or marked output blocks its fusion", "[graph]") {
  const testing::TinyTransformer model({});
  const auto build_with_output = [&](const std::string& name) {
    StatusOr<Graph> graph = model.Build(Unfused());
    MF_REQUIRE_OK(graph);
    graph->values[static_cast<size_t>(graph->FindValue(name))].is_output = true;
    graph->params.fuse_qkv = graph->params.fuse_gate_up = graph->params.fuse_rope_store = true;
    MF_REQUIRE_OK(RunPasses(&*graph));
    return *std::move(graph);
  };
  SECTION("gate") {
    const Graph graph = build_with_output("blk.0.ffn_gate");
    CHECK(Count(graph, OpKind::kGatedMatMul) == 1);
    CHECK(graph.FindValue("blk.0.ffn_gate") != kNoId);
  }
  SECTION("rotated K") {
    const Graph graph = build_with_output("blk.0.k_rope");
    CHECK(Count(graph, OpKind::kRopeKvStore) == 1);
    CHECK(graph.FindValue("blk.0.k_rope") != kNoId);
  }
  SECTION("Q product without bias stays a value of the group") {
    const Graph graph = build_with_output("blk.0.q");
    CHECK(Count(graph, OpKind::kMatMulGroup) == 2);
    CHECK(graph.value(graph.FindValue("blk.0.q")).is_output);
  }
}

TEST_CASE("FuseQkv: a product that is read before its bias keeps the bias node", "[graph]") {
  testing::TinyOptions options;
  options.bias = true;
  const testing::TinyTransformer model(options);
  StatusOr<Graph> graph = model.Build(Unfused());
  MF_REQUIRE_OK(graph);
  graph->values[static_cast<size_t>(graph->FindValue("blk.0.q"))].is_output = true;
  MF_REQUIRE_OK(FuseQkv(&*graph));
  MF_REQUIRE_OK(ValidateGraph(*graph));
  const Node* group = FindNode(*graph, "blk.0.q+blk.0.k+blk.0.v");
  REQUIRE(group != nullptr);
  CHECK(group->weights[3] == kNoId);
  CHECK(group->weights[4] != kNoId);
  CHECK(FindNode(*graph, "blk.0.q_bias") != nullptr);
}

TEST_CASE("FuseGateUp: one value used as gate and up is left alone", "[graph]") {
  WeightInfo square;
  square.name = "w";
  square.ne0 = square.ne1 = 4;
  const std::vector<WeightInfo> weights = {square};
  GraphBuilder b({}, &weights);
  const ValueId y = b.MatMul("y", b.Input("x", DataType::kF32, {2, 4}), 0);
  b.MarkOutput(b.GatedAct("act", y, y, Activation::kSilu));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  MF_REQUIRE_OK(RunPasses(&*graph));
  CHECK(Count(*graph, OpKind::kGatedAct) == 1);
}

TEST_CASE("FuseGateUp: gate and up of different types are left alone", "[graph]") {
  WeightInfo gate;
  gate.name = "gate";
  gate.type = ElementType::kQ4_0;
  gate.ne0 = gate.ne1 = 32;
  WeightInfo up = gate;
  up.name = "up";
  up.type = ElementType::kQ8_0;
  for (const bool same : {false, true}) {
    const std::vector<WeightInfo> weights = {gate, same ? gate : up};
    GraphBuilder b({}, &weights);
    const ValueId x = b.Input("x", DataType::kF32, {2, 32});
    const ValueId a = b.MatMul("a", x, 0);
    b.MarkOutput(b.GatedAct("act", a, b.MatMul("b", x, 1), Activation::kSilu));
    StatusOr<Graph> graph = b.Finish();
    MF_REQUIRE_OK(graph);
    MF_REQUIRE_OK(RunPasses(&*graph));
    CHECK(Count(*graph, OpKind::kGatedMatMul) == (same ? 1 : 0));
  }
}

TEST_CASE("RunPasses: fusing a fused graph changes nothing", "[graph]") {
  const testing::TinyTransformer model({});
  GraphParams params = Unfused();
  params.fuse_qkv = params.fuse_gate_up = params.fuse_rope_store = true;
  Graph graph = Built(model, params);
  const size_t nodes = graph.nodes.size();
  const size_t values = graph.values.size();
  MF_REQUIRE_OK(RunPasses(&graph));
  CHECK(graph.nodes.size() == nodes);
  CHECK(graph.values.size() == values);
}

}  // namespace
}  // namespace minfer
