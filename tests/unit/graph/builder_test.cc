// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer {
namespace {

WeightInfo Matrix(const std::string& name, int64_t ne0, int64_t ne1) {
  WeightInfo info;
  info.name = name;
  info.ne0 = ne0;
  info.ne1 = ne1;
  return info;
}

bool Mentions(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string_view::npos;
}

TEST_CASE("GraphBuilder: a transformer comes out with inferred shapes", "[graph]") {
  const testing::TinyTransformer model({});
  GraphParams params;
  params.decode_rows = 2;
  params.prefill_rows = 3;
  params.output_rows = 2;
  const StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  MF_REQUIRE_OK(ValidateGraph(*graph));
  const ValueId logits = graph->FindValue("logits");
  REQUIRE(logits != kNoId);
  CHECK(graph->value(logits).shape == ValueShape{2, 17});
  CHECK(graph->value(logits).is_output);
  CHECK(graph->value(graph->FindValue("blk.1.attention")).shape == ValueShape{5, 24});
  CHECK(graph->value(graph->FindValue("rope_table")).shape == ValueShape{5, 4});
  const Value& store = graph->value(graph->FindValue("blk.0.kv_store"));
  CHECK(store.type == DataType::kOrder);
  CHECK(store.bytes() == 0);
  CHECK(graph->FindValue("no such value") == kNoId);
}

TEST_CASE("GraphBuilder: a step without output rows has empty logits", "[graph]") {
  const testing::TinyTransformer model({});
  GraphParams params;
  params.prefill_rows = 3;
  const StatusOr<Graph> graph = model.Build(params);
  MF_REQUIRE_OK(graph);
  CHECK(graph->value(graph->FindValue("logits")).bytes() == 0);
}

TEST_CASE("GraphBuilder: the first mistake is kept and named", "[graph]") {
  const std::vector<WeightInfo> weights = {Matrix("w", 8, 5)};
  GraphBuilder b({}, &weights);
  const ValueId x = b.Input("x", DataType::kF32, {3, 7});
  b.SetPrefix("blk.4");
  const ValueId y = b.MatMul("bad", x, 0);
  CHECK(y == kNoId);
  b.Add("later", y, y);
  const StatusOr<Graph> graph = b.Finish();
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.status().code() == StatusCode::kInternal);
  CHECK(graph.status().name() == "blk.4.bad");
  CHECK(Mentions(graph.status(), "'w' has rows of 8 values, the input has 7"));
}

TEST_CASE("GraphBuilder: ids out of range and bad outputs are refused", "[graph]") {
  const std::vector<WeightInfo> weights = {Matrix("w", 8, 5)};
  SECTION("weight") {
    GraphBuilder b({}, &weights);
    b.MatMul("y", b.Input("x", DataType::kF32, {3, 8}), 1);
    CHECK(Mentions(b.Finish().status(), "weight id 1 out of range"));
  }
  SECTION("absent weight") {
    GraphBuilder b({}, &weights);
    b.MatMul("y", b.Input("x", DataType::kF32, {3, 8}), kNoId);
    CHECK(Mentions(b.Finish().status(), "weight 0 is absent"));
  }
  SECTION("value") {
    GraphBuilder b({}, &weights);
    b.MatMul("y", 12, 0);
    CHECK(Mentions(b.Finish().status(), "input value id 12 out of range"));
  }
  SECTION("output id") {
    GraphBuilder b({}, &weights);
    b.MarkOutput(0);
    CHECK(Mentions(b.Finish().status(), "output value id 0 out of range"));
  }
  SECTION("an input as output") {
    GraphBuilder b({}, &weights);
    b.MarkOutput(b.Input("x", DataType::kF32, {3, 8}));
    CHECK(b.Finish().status().name() == "x");
  }
  SECTION("the same name twice") {
    GraphBuilder b({}, &weights);
    const ValueId x = b.Input("x", DataType::kF32, {3, 8});
    b.Scale("y", b.Scale("y", x, 2.0f), 2.0f);
    CHECK(Mentions(b.Finish().status(), "two values have this name"));
  }
}

TEST_CASE("GraphBuilder: an absent bias leaves the value alone", "[graph]") {
  GraphBuilder b({}, nullptr);
  const ValueId x = b.Input("x", DataType::kF32, {3, 8});
  CHECK(b.AddBias("bias", x, kNoId) == x);
}

}  // namespace
}  // namespace minfer
