// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Every operation but those with KV pages, one a graph, on odd sizes, against the scalar answer.
#include <memory>
#include <string>

#include "graph/builder.h"
#include "tests/conformance/checks.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct OpCase {
  std::string name;
  ElementType type = ElementType::kF32;  // of the weights of products
  std::vector<WeightInfo> weights;
  std::vector<RopeConfig> rope_configs;
  Graph graph;
};

class OpRunner {
 public:
  OpRunner(const Factory& factory, Faults* faults) : factory_(factory), faults_(*faults) {}

  void Run(OpCase* op) {
    MF_REQUIRE_OK(ValidateGraph(op->graph));
    ModelData model = MakeModelData(op->weights, 17);
    model.rope_configs = op->rope_configs;
    Rig rig({factory_}, model);
    const std::unique_ptr<Executor> executor = rig.MakeExecutor(op->graph, {});
    const NamedBytes inputs = MakeInputs(op->graph, {});
    Compare(factory_.name + ": " + op->name, RunStep(executor.get(), op->graph, inputs),
            ScalarModel(model).Run(op->graph, inputs), factory_.ToleranceFor(op->type), &faults_);
  }

 private:
  const Factory& factory_;
  Faults& faults_;
};

WeightInfo Weight(const std::string& name, ElementType type, int64_t ne0, int64_t ne1) {
  WeightInfo info;
  info.name = name;
  info.type = type;
  info.ne0 = ne0;
  info.ne1 = ne1;
  const ElementTraits* traits = FindElementTraits(type);
  info.bytes = static_cast<uint64_t>(ne0 / traits->block_elements * ne1) *
               static_cast<uint64_t>(traits->block_bytes);
  return info;
}

std::string Sizes(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (const int64_t size : sizes) text += " " + std::to_string(size);
  return text;
}

// x and one node that reads it; outputs as shape inference gives them.
void BuildNode(OpCase* op, OpKind kind, ValueShape x, std::vector<WeightId> weights,
               const OpAttributes& attributes = {}) {
  Graph& graph = op->graph;
  graph.weights = &op->weights;
  Value input;
  input.name = "x";
  input.shape = x;
  graph.values.push_back(input);
  Node node;
  node.name = "node";
  node.op = kind;
  node.attributes = attributes;
  node.inputs = {0};
  node.weights = std::move(weights);
  for (int64_t i = 0; i < (kind == OpKind::kMatMulGroup ? 3 : 1); ++i) {
    Value output;
    output.name = "y" + std::to_string(i);
    output.shape = {x.rows,
                    op->weights[static_cast<size_t>(node.weights[static_cast<size_t>(i)])].ne1};
    output.producer = 0;
    output.is_output = true;
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back(output);
  }
  graph.nodes.push_back(std::move(node));
}

void RunProducts(OpRunner* runner, ElementType type, int64_t rows, int64_t k, int64_t n) {
  const ElementTraits* traits = FindElementTraits(type);
  const std::string label = std::string(traits->name) + Sizes({rows, k, n});
  OpCase product{"matmul " + label, type, {Weight("w", type, k, n)}, {}, {}};
  BuildNode(&product, OpKind::kMatMul, {rows, k}, {0});
  runner->Run(&product);

  OpCase group{"matmul_group " + label,
               type,
               {Weight("a", type, k, n), Weight("b", type, k, n + 2), Weight("c", type, k, 1),
                Weight("bias", ElementType::kF32, n + 2, 1)},
               {},
               {}};
  BuildNode(&group, OpKind::kMatMulGroup, {rows, k}, {0, 1, 2, kNoId, 3, kNoId});
  runner->Run(&group);

  OpCase gated{"gated_matmul " + label,
               type,
               {Weight("gate", type, k, n), Weight("up", type, k, n)},
               {},
               {}};
  OpAttributes attributes;
  attributes.activation = n % 2 == 0 ? Activation::kSilu : Activation::kGeluTanh;
  BuildNode(&gated, OpKind::kGatedMatMul, {rows, k}, {0, 1}, attributes);
  runner->Run(&gated);
}

void RunGetRows(OpRunner* runner, ElementType type, int64_t rows, int64_t cols) {
  OpCase op{"get_rows " + std::string(FindElementTraits(type)->name) + Sizes({rows, cols}),
            ElementType::kF32,
            {Weight("table", type, cols, 11)},
            {},
            {}};
  GraphBuilder b({}, &op.weights);
  b.MarkOutput(b.GetRows("y", 0, b.Input("ids", DataType::kI32, {rows, 1})));
  op.graph = *b.Finish();
  runner->Run(&op);
}

// The operations that take rows of floats and give rows of the same shape.
void RunRowwise(OpRunner* runner, int64_t rows, int64_t cols) {
  OpCase op{
      "rowwise" + Sizes({rows, cols}),
      ElementType::kF32,
      {Weight("norm", ElementType::kF32, cols, 1), Weight("bias", ElementType::kF32, cols, 1)},
      {},
      {}};
  GraphBuilder b({}, &op.weights);
  const ValueId x = b.Input("x", DataType::kF32, {rows, cols});
  const ValueId y = b.Input("y", DataType::kF32, {rows, cols});
  const ValueId ids = b.Input("output_rows", DataType::kI32, {rows, 1});
  b.MarkOutput(b.RmsNorm("rms_norm", x, 0, 1e-5f));
  b.MarkOutput(b.LayerNorm("layer_norm", x, 0, 1, 1e-5f));
  b.MarkOutput(b.LayerNorm("layer_norm_no_bias", x, 0, kNoId, 1e-5f));
  b.MarkOutput(b.AddBias("add_bias", x, 1));
  b.MarkOutput(b.Add("add", x, y));
  b.MarkOutput(b.Add("twice", x, x));
  b.MarkOutput(b.Mul("mul", x, y));
  b.MarkOutput(b.Scale("scale", x, -1.7f));
  b.MarkOutput(b.Softcap("softcap", x, 0.8f));
  b.MarkOutput(b.Act("act_silu", x, Activation::kSilu));
  b.MarkOutput(b.Act("act_gelu", x, Activation::kGeluTanh));
  b.MarkOutput(b.GatedAct("silu", x, y, Activation::kSilu));
  b.MarkOutput(b.GatedAct("gelu", x, y, Activation::kGeluTanh));
  b.MarkOutput(b.SelectRows("select_rows", x, ids));
  op.graph = *b.Finish();
  runner->Run(&op);
}

std::vector<RopeConfig> RopeConfigs(int32_t rope_dim) {
  std::vector<RopeConfig> configs(4);
  for (RopeConfig& config : configs) config.rope_dim = rope_dim;
  configs[1].base = 500000.0;
  configs[1].linear_factor = 4.0;
  for (int32_t i = 0; i < rope_dim / 2; ++i) {
    configs[2].frequency_factors.push_back(1.0f + 0.25f * static_cast<float>(i));
  }
  configs[3].yarn = true;
  configs[3].yarn_factor = 4.0;
  configs[3].yarn_original_context = 64.0;
  configs[3].yarn_ext_factor = 0.75;
  configs[3].magnitude = 1.1;
  return configs;
}

void RunRope(OpRunner* runner, int64_t rows, int32_t head_dim, int32_t rope_dim) {
  OpCase op{"rope" + Sizes({rows, head_dim, rope_dim}),
            ElementType::kF32,
            {Weight("norm", ElementType::kF32, head_dim, 1)},
            RopeConfigs(rope_dim),
            {}};
  GraphBuilder b({}, &op.weights);
  constexpr int32_t kHeads = 3;
  const ValueId x = b.Input("x", DataType::kF32, {rows, kHeads * head_dim});
  const ValueId positions = b.Input("positions", DataType::kI32, {rows, 1});
  b.MarkOutput(b.HeadRmsNorm("head_norm", x, 0, 1e-6f, kHeads, head_dim));
  for (int32_t config = 0; config < 4; ++config) {
    const std::string id = std::to_string(config);
    const ValueId table = b.RopeTable("table" + id, positions, config, rope_dim);
    b.MarkOutput(table);
    OpAttributes attributes;
    attributes.n_heads = kHeads;
    attributes.head_dim = head_dim;
    attributes.rope_dim = rope_dim;
    b.MarkOutput(b.Rope("norm" + id, x, table, attributes));
    attributes.rope_style = RopeStyle::kNeox;
    b.MarkOutput(b.Rope("neox" + id, x, table, attributes));
  }
  op.graph = *b.Finish();
  runner->Run(&op);
}

}  // namespace

Faults CheckOps(const Factory& factory) {
  Faults faults;
  OpRunner runner(factory, &faults);
  for (const ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    for (const int64_t rows : {1, 2, 3, 7, 17}) {
      RunProducts(&runner, type, rows, 5, 3);
      RunProducts(&runner, type, rows, 33, 18);
    }
    RunProducts(&runner, type, 3, 300, 7);
    RunGetRows(&runner, type, 5, 13);
  }
  for (const ElementType type : {ElementType::kQ8_0, ElementType::kQ4_0, ElementType::kQ4_1}) {
    for (const int64_t rows : {1, 2, 9}) RunProducts(&runner, type, rows, 96, 17);
    RunProducts(&runner, type, 2, 32, 1);
    if (type == ElementType::kQ8_0) RunProducts(&runner, type, 150, 4096, 18);  // in four blocks
    RunGetRows(&runner, type, 5, 96);
  }
  for (const ElementType type : {ElementType::kQ4_K, ElementType::kQ6_K}) {
    for (const int64_t rows : {1, 2, 9}) RunProducts(&runner, type, rows, 512, 5);
    // The kernels that CUDA has for so many.
    for (const int64_t rows : {65, 257}) RunProducts(&runner, type, rows, 256, 18);
    RunGetRows(&runner, type, 5, 256);
  }
  for (const int64_t cols : {1, 5, 33, 64, 577}) {
    RunRowwise(&runner, 1, cols);
    RunRowwise(&runner, 7, cols);
  }
  for (const int64_t rows : {1, 5}) {
    RunRope(&runner, rows, 6, 4);
    RunRope(&runner, rows, 6, 6);
    RunRope(&runner, rows, 40, 40);
    RunRope(&runner, rows, 64, 32);
  }
  return faults;
}

}  // namespace minfer::testing
