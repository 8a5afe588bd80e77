// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/print.h"

#include "graph/builder.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

Graph Small(const std::vector<WeightInfo>& weights) {
  GraphParams params;
  params.decode_rows = 2;
  GraphBuilder b(params, &weights);
  const ValueId x = b.Input("x", DataType::kF32, {2, 32});
  const ValueId h = b.RmsNorm("norm", x, 0, 1e-5f);
  b.SetPrefix("blk.0");
  b.MarkOutput(b.MatMul("y", h, 1));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

std::vector<WeightInfo> SmallWeights() {
  WeightInfo norm;
  norm.name = "norm.weight";
  norm.ne0 = 32;
  WeightInfo matrix;
  matrix.name = "odd \"name\"";
  matrix.type = ElementType::kQ4_0;
  matrix.ne0 = 32;
  matrix.ne1 = 5;
  return {norm, matrix};
}

TEST_CASE("PrintDot: the golden text of a small graph", "[graph]") {
  const std::vector<WeightInfo> weights = SmallWeights();
  CHECK(PrintDot(Small(weights)) == R"(digraph minfer {
  rankdir = TB;
  node [shape = box];
  v0 [shape = ellipse, label = "x\nf32 2 x 32"];
  n0 [label = "norm\nrms_norm\neps = 1e-05\nn_heads = 1\nhead_dim = 32\nnorm.weight: F32 1 x 32"];
  v0 -> n0 [label = "f32 2 x 32"];
  n1 [label = "blk.0.y\nmatmul\nodd \"name\": Q4_0 5 x 32"];
  n0 -> n1 [label = "f32 2 x 32"];
  out2 [shape = ellipse, label = "blk.0.y\nf32 2 x 5"];
  n1 -> out2;
}
)");
}

TEST_CASE("PrintJson: the golden text of a small graph", "[graph]") {
  const std::vector<WeightInfo> weights = SmallWeights();
  CHECK(PrintJson(Small(weights)) == R"({
  "params": {"decode_rows": 2, "prefill_rows": 0, "output_rows": 0, "sequences": 1, )"
                                     R"("pages_per_sequence": 1, "fuse_qkv": true, )"
                                     R"("fuse_gate_up": true, "fuse_rope_store": true},
  "values": [
    {"name": "x", "type": "f32", "rows": 2, "cols": 32, "producer": -1, "output": false},
    {"name": "norm", "type": "f32", "rows": 2, "cols": 32, "producer": 0, "output": false},
    {"name": "blk.0.y", "type": "f32", "rows": 2, "cols": 5, "producer": 1, "output": true}
  ],
  "nodes": [
    {"name": "norm", "op": "rms_norm", "inputs": [0], "outputs": [1], "weights": ["norm.weight"], )"
                                     R"("attributes": {"eps": 1e-05, "n_heads": 1, )"
                                     R"("head_dim": 32}},
    {"name": "blk.0.y", "op": "matmul", "inputs": [1], "outputs": [2], )"
                                     R"("weights": ["odd \"name\""], "attributes": {}}
  ]
}
)");
}

TEST_CASE("PrintJson: a whole transformer parses back, and the same graph gives the same text",
          "[graph]") {
  testing::TinyOptions options;
  options.bias = true;
  options.qk_norm = true;
  const testing::TinyTransformer model(options);
  GraphParams params;
  params.prefill_rows = 3;
  params.output_rows = 1;
  const StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  const std::string text = PrintJson(*graph);
  CHECK(text == PrintJson(*model.Build(params)));
  CHECK(PrintDot(*graph) == PrintDot(*model.Build(params)));
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["values"].size() == graph->values.size());
  REQUIRE(json["nodes"].size() == graph->nodes.size());
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    CHECK(json["nodes"][i]["name"] == graph->nodes[i].name);
    CHECK(json["nodes"][i]["op"] == std::string(OpName(graph->nodes[i].op)));
  }
}

TEST_CASE("PrintJson: names that are no text stay valid JSON", "[graph]") {
  std::vector<WeightInfo> weights = SmallWeights();
  weights[1].name = "bad \xff\n\x01 name";
  const Graph graph = Small(weights);
  CHECK_FALSE(nlohmann::json::parse(PrintJson(graph), nullptr, false).is_discarded());
}

TEST_CASE("OpName: every operation has a name of its own", "[graph]") {
  std::vector<std::string> names;
  for (int i = 0; i < kOpKindCount; ++i) {
    names.emplace_back(OpName(static_cast<OpKind>(i)));
    CHECK(names.back() != "unknown");
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(OpName(static_cast<OpKind>(kOpKindCount)) == "unknown");
}

}  // namespace
}  // namespace minfer
