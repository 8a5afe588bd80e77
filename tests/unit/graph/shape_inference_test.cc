// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/shape_inference.h"

#include <functional>

#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

Graph TinyGraph(const testing::TinyTransformer& model) {
  GraphParams params;
  params.prefill_rows = 3;
  params.output_rows = 1;
  StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

Node& NodeNamed(Graph* graph, const std::string& name) {
  const ValueId value = graph->FindValue(name);
  REQUIRE(value != kNoId);
  return graph->nodes[static_cast<size_t>(graph->value(value).producer)];
}

TEST_CASE("InferOutputs: each damaged node is refused with its name and the numbers", "[graph]") {
  struct Case {
    std::string node;
    std::string says;
    std::function<void(Node*)> damage;
  };
  const std::vector<Case> cases = {
      {"embedding", "has 1 inputs and 0 weights, expected 1 and 1",
       [](Node* n) { n->weights.clear(); }},
      {"embedding", "has no input", [](Node* n) { n->inputs.clear(); }},
      {"embedding", "data type 0, expected 1", [](Node* n) { n->inputs[0] = 7; }},
      {"blk.0.attn_norm", "expected 3 x 13", [](Node* n) { n->attributes.head_dim = 13; }},
      {"blk.0.attn_norm", "n_heads is 0", [](Node* n) { n->attributes.n_heads = 0; }},
      {"blk.0.attn_norm", "expected 6 x 1",
       [](Node* n) {
         n->attributes.head_dim = 6;
         n->attributes.n_heads = 2;
       }},
      {"rope_table", "rope_dim is 3", [](Node* n) { n->attributes.rope_dim = 3; }},
      {"rope_table", "rope_config is -1", [](Node* n) { n->attributes.rope_config = -1; }},
      {"blk.0.q_rope", "rope_dim is 8 for a head of 6",
       [](Node* n) { n->attributes.rope_dim = 8; }},
      {"blk.0.q_rope", "is 3 x 24, expected 3 x 18", [](Node* n) { n->attributes.n_heads = 3; }},
      {"blk.0.kv_store", "layer is -1", [](Node* n) { n->attributes.layer = -1; }},
      {"blk.0.kv_store", "is 3 x 12, expected 3 x 18",
       [](Node* n) { n->attributes.n_kv_heads = 3; }},
      {"blk.0.kv_store", "is 3 x 12, expected 3 x 10",
       [](Node* n) { n->attributes.head_dim_v = 5; }},
      {"blk.0.attention", "4 heads over 3 KV heads", [](Node* n) { n->attributes.n_kv_heads = 3; }},
      {"blk.1.attention", "reads the store of layer 1", [](Node* n) { n->attributes.layer = 0; }},
      {"blk.0.attention", "data type 0, expected 2", [](Node* n) { n->inputs[1] = n->inputs[0]; }},
      {"blk.0.attn_residual", "expected 3 x 12", [](Node* n) { n->inputs[1] = 7; }},
      {"last_rows", "data type 0, expected 1", [](Node* n) { n->inputs[1] = n->inputs[0]; }},
      {"logits", "unknown operation 99", [](Node* n) { n->op = static_cast<OpKind>(99); }},
      {"logits", "matmul_group: has 1 weights", [](Node* n) { n->op = OpKind::kMatMulGroup; }},
      {"logits", "gated_matmul: has 1 inputs and 1 weights, expected 1 and 2",
       [](Node* n) { n->op = OpKind::kGatedMatMul; }},
      {"blk.0.attn_norm", "layer_norm: has 1 weights, expected a weight and a bias",
       [](Node* n) { n->op = OpKind::kLayerNorm; }},
      {"blk.0.attn_norm", "layer_norm: weight 0 is absent",
       [](Node* n) {
         n->op = OpKind::kLayerNorm;
         n->weights = {kNoId, n->weights[0]};
       }},
      {"logits", "layer_norm: weight 'token_embd' is 12 x 17, expected 12 x 1",
       [](Node* n) {
         n->op = OpKind::kLayerNorm;
         n->weights.push_back(kNoId);
       }},
      {"logits", "act: has 1 inputs and 1 weights, expected 1 and 0",
       [](Node* n) { n->op = OpKind::kAct; }},
      {"logits", "add_bias: weight 'token_embd' is 12 x 17, expected 12 x 1",
       [](Node* n) { n->op = OpKind::kAddBias; }},
  };
  const testing::TinyTransformer model({});
  for (const Case& c : cases) {
    Graph graph = TinyGraph(model);
    Node& node = NodeNamed(&graph, c.node);
    c.damage(&node);
    const Status status = InferOutputs(graph, node).status();
    INFO(c.node << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kInternal);
    CHECK(status.name() == c.node);
    CHECK(status.message().find(c.says) != std::string_view::npos);
    CHECK_FALSE(ValidateGraph(graph).ok());
  }
}

TEST_CASE("InferOutputs: groups give one output a weight, biases checked", "[graph]") {
  testing::TinyTransformer model({});
  Graph graph = TinyGraph(model);
  Node group = NodeNamed(&graph, "blk.0.q");
  group.op = OpKind::kMatMulGroup;
  const WeightId q = model.FindWeight("blk.0.attn_q");
  const WeightId k = model.FindWeight("blk.0.attn_k");
  const WeightId norm = model.FindWeight("blk.0.attn_norm");
  group.weights = {q, k, kNoId, norm};
  const StatusOr<std::vector<InferredValue>> shapes = InferOutputs(graph, group);
  MF_REQUIRE_OK(shapes);
  REQUIRE(shapes->size() == 2);
  CHECK((*shapes)[0].shape == ValueShape{3, 24});
  CHECK((*shapes)[1].shape == ValueShape{3, 12});
  group.weights = {q, k, norm, kNoId};
  CHECK_FALSE(InferOutputs(graph, group).ok());
}

TEST_CASE("InferOutputs: absurd sizes are refused before they are multiplied", "[graph]") {
  testing::TinyTransformer model({});
  Graph graph = TinyGraph(model);
  graph.values[static_cast<size_t>(graph.FindValue("ids"))].shape.rows = int64_t{1} << 40;
  CHECK_FALSE(InferOutputs(graph, NodeNamed(&graph, "embedding")).ok());
  std::vector<WeightInfo> weights = model.weights();
  weights[0].ne0 = int64_t{1} << 50;
  Graph wide = TinyGraph(model);
  wide.weights = &weights;
  CHECK_FALSE(InferOutputs(wide, NodeNamed(&wide, "embedding")).ok());
}

TEST_CASE("ValidateGraph: order, producers and shapes are checked", "[graph]") {
  testing::TinyTransformer model({});
  SECTION("nodes out of order") {
    Graph graph = TinyGraph(model);
    std::swap(graph.nodes[2], graph.nodes[3]);
    CHECK_FALSE(ValidateGraph(graph).ok());
  }
  SECTION("a value computed twice") {
    Graph graph = TinyGraph(model);
    graph.nodes.push_back(graph.nodes[2]);
    CHECK_FALSE(ValidateGraph(graph).ok());
  }
  SECTION("a value never computed") {
    Graph graph = TinyGraph(model);
    graph.nodes.pop_back();
    const Status status = ValidateGraph(graph);
    CHECK(status.name() == "logits");
  }
  SECTION("a stored shape that inference does not give") {
    Graph graph = TinyGraph(model);
    graph.values[static_cast<size_t>(graph.FindValue("logits"))].shape.cols = 18;
    const Status status = ValidateGraph(graph);
    CHECK(status.name() == "logits");
    CHECK(status.message().find("is 1 x 18, expected 1 x 17") != std::string_view::npos);
  }
  SECTION("an id out of range") {
    Graph graph = TinyGraph(model);
    NodeNamed(&graph, "logits").inputs[0] = 1000;
    CHECK_FALSE(ValidateGraph(graph).ok());
  }
}

}  // namespace
}  // namespace minfer
