// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_graph.h"

#include <map>
#include <string>

#include "graph/builder.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr int32_t kVocab = 11;
constexpr int32_t kHeadDim = 6;
constexpr int32_t kRopeDim = 4;
constexpr int32_t kWidths[] = {12, 24, 18};  // multiples of the head dimension

class Generator {
 public:
  Generator(uint64_t seed, int32_t rows, bool experts, RandomGraph* out)
      : random_(seed), rows_(rows), experts_(experts), out_(*out), b_(Params(rows), &out->weights) {
    ids_ = b_.Input("ids", DataType::kI32, {rows, 1});
    positions_ = b_.Input("positions", DataType::kI32, {rows, 1});
    cells_ = b_.Input("cells", DataType::kI32, {rows, 1});
    page_table_ = b_.Input("page_table", DataType::kI32, {1, (rows + 63) / 64});
    row_sequence_ = b_.Input("row_sequence", DataType::kI32, {rows, 1});
    row_length_ = b_.Input("row_length", DataType::kI32, {rows, 1});
    row_ids_ = b_.Input("output_rows", DataType::kI32, {rows, 1});
    values_.push_back({b_.Input("x", DataType::kF32, {rows, kWidths[0]}), kWidths[0]});
    table_ = b_.RopeTable("rope_table", positions_, 0, kRopeDim);
  }

  Status Generate(int32_t n_nodes) {
    for (int32_t i = 0; i < n_nodes; ++i) AddOne();
    for (int i = 0; i < 3; ++i) {
      const Entry& entry = Pick();
      if (entry.value != values_[0].value) b_.MarkOutput(entry.value);
    }
    b_.MarkOutput(MatMul(Pick(), kWidths[0]));
    MF_ASSIGN_OR_RETURN(out_.graph, b_.Finish());
    return OkStatus();
  }

 private:
  struct Entry {
    ValueId value;
    int32_t cols;
  };

  static GraphParams Params(int32_t rows) {
    GraphParams params;
    params.prefill_rows = rows;
    params.output_rows = rows;
    return params;
  }

  std::string Name(const char* what) { return std::string(what) + std::to_string(counter_++); }

  // The builder reads the table by pointer, so it may grow.
  WeightId Weight(int64_t ne0, int64_t ne1, int64_t ne2 = 1) {
    WeightInfo info;
    info.name = Name("w");
    info.ne0 = ne0;
    info.ne1 = ne1;
    info.ne2 = ne2;
    info.bytes = static_cast<uint64_t>(info.elements()) * 4;
    out_.weights.push_back(info);
    return static_cast<WeightId>(out_.weights.size()) - 1;
  }

  // Recent values more often, so that chains grow long and some values live long.
  const Entry& Pick() {
    const auto size = static_cast<int32_t>(values_.size());
    const int32_t back =
        random_.Below(3) == 0 ? random_.Below(size) : random_.Below(std::min(size, 3));
    return values_[static_cast<size_t>(size - 1 - back)];
  }

  const Entry& PickWidth(int32_t cols) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].cols == cols) fitting.push_back(i);
    }
    return values_[fitting[static_cast<size_t>(
        random_.Below(static_cast<int32_t>(fitting.size())))]];
  }

  void Keep(ValueId value, int32_t cols) { values_.push_back({value, cols}); }

  ValueId MatMul(const Entry& x, int32_t cols) {
    return b_.MatMul(Name("matmul"), x.value, Weight(x.cols, cols));
  }

  int32_t Width() { return kWidths[random_.Below(3)]; }

  void AddOne() {
    const Entry x = Pick();
    const Entry y = PickWidth(x.cols);
    switch (random_.Below(experts_ ? 13 : 12)) {
      case 0:
        return Keep(b_.Add(Name("add"), x.value, y.value), x.cols);
      case 1:
        return Keep(b_.Mul(Name("mul"), x.value, y.value), x.cols);
      case 2:
        return Keep(b_.Scale(Name("scale"), x.value, random_.Uniform(0.5f, 1.5f)), x.cols);
      case 3:
        return Keep(b_.Softcap(Name("softcap"), x.value, 3.0f), x.cols);
      case 4:
        return Keep(b_.RmsNorm(Name("norm"), x.value, Weight(x.cols, 1), 1e-5f), x.cols);
      case 5:
        return Keep(b_.AddBias(Name("bias"), x.value, Weight(x.cols, 1)), x.cols);
      case 6:
        return Keep(b_.SelectRows(Name("rows"), x.value, row_ids_), x.cols);
      case 7:
        return AddGetRows();
      case 8:
        return AddGated(x);
      case 9:
        return AddRope(x);
      case 10:
        return AddLayer(x);
      case 12:
        return AddExperts(x);
      default:
        return AddMatMul(x);
    }
  }

  void AddMatMul(const Entry& x) {
    const int32_t cols = Width();
    Keep(MatMul(x, cols), cols);
  }

  void AddGetRows() {
    const int32_t cols = Width();
    Keep(b_.GetRows(Name("get"), Weight(cols, kVocab), ids_), cols);
  }

  void AddGated(const Entry& x) {
    const int32_t cols = Width();
    const Activation activation = random_.Below(2) == 0 ? Activation::kSilu : Activation::kGeluTanh;
    const ValueId gate = MatMul(x, cols);
    const ValueId up = MatMul(x, cols);
    Keep(b_.GatedAct(Name("gated"), gate, up, activation), cols);
  }

  // A router, two of five experts a row, their sum behind a gate.
  void AddExperts(const Entry& x) {
    constexpr int32_t kExperts = 5;
    constexpr int32_t kUsed = 2;
    const int32_t cols = Width();
    const auto choice = b_.TopExperts(Name("choice"), MatMul(x, kExperts), kUsed,
                                      random_.Below(2) == 0, random_.Uniform(0.5f, 1.5f));
    const auto groups = b_.GroupExperts(Name("groups"), choice.ids, kExperts);
    const WeightId bias = random_.Below(2) == 0 ? Weight(cols, kExperts) : kNoId;
    const ValueId up = b_.ExpertMatMul(Name("experts"), x.value, groups,
                                       Weight(x.cols, cols, kExperts), bias, kUsed);
    const ValueId act = b_.ClampedSwiglu(Name("swiglu"), up, up, 1.7f, 0.9f);
    const ValueId down =
        b_.ExpertMatMul(Name("experts"), act, groups, Weight(cols, x.cols, kExperts), kNoId, 1);
    const ValueId sum = b_.CombineExperts(Name("combine"), down, choice.weights);
    Keep(b_.GateRows(Name("gate"), sum, MatMul(x, 1)), x.cols);
  }

  OpAttributes Heads(int32_t n_heads) {
    OpAttributes a;
    a.n_heads = n_heads;
    a.head_dim = kHeadDim;
    a.rope_dim = kRopeDim;
    a.rope_style = random_.Below(2) == 0 ? RopeStyle::kNorm : RopeStyle::kNeox;
    return a;
  }

  void AddRope(const Entry& x) {
    Keep(b_.Rope(Name("rope"), x.value, table_, Heads(x.cols / kHeadDim)), x.cols);
  }

  void AddLayer(const Entry& x) {
    const int32_t n_kv_heads = 1 + random_.Below(2);
    OpAttributes a = Heads(n_kv_heads);
    a.layer = out_.n_layers++;
    a.n_kv_heads = n_kv_heads;
    a.head_dim_v = 3 + random_.Below(4);
    const ValueId q = MatMul(x, 2 * n_kv_heads * kHeadDim);
    ValueId k = MatMul(x, n_kv_heads * kHeadDim);
    const ValueId v = MatMul(x, n_kv_heads * a.head_dim_v);
    k = b_.Rope(Name("k_rope"), k, table_, a);
    const ValueId store = b_.KvStore(Name("store"), k, v, cells_, a);
    a.n_heads = 2 * n_kv_heads;
    a.scale = 0.4f;
    a.window = random_.Below(3);
    const WeightId sinks = experts_ && random_.Below(2) == 0 ? Weight(a.n_heads, 1) : kNoId;
    const ValueId out = b_.Attention(Name("attention"), q, store, page_table_, row_sequence_,
                                     row_length_, a, sinks);
    Keep(MatMul({out, a.n_heads * a.head_dim_v}, x.cols), x.cols);
    KvLayerShape shape;
    shape.n_kv_heads = n_kv_heads;
    shape.head_dim_k = kHeadDim;
    shape.head_dim_v = a.head_dim_v;
    out_.kv_layers.push_back(shape);
  }

  Random random_;
  const int32_t rows_;
  const bool experts_;
  RandomGraph& out_;
  GraphBuilder b_;
  int counter_ = 0;
  ValueId ids_, positions_, cells_, page_table_, row_sequence_, row_length_, row_ids_, table_;
  std::vector<Entry> values_;
};

}  // namespace

uint64_t Random::Next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

float Random::Uniform(float low, float high) {
  const float unit = static_cast<float>(Next() >> 40) / 16777216.0f;
  return low + (high - low) * unit;
}

std::unique_ptr<RandomGraph> MakeRandomGraph(uint64_t seed, int32_t n_nodes, int32_t rows,
                                             bool experts) {
  auto out = std::make_unique<RandomGraph>();
  Generator generator(seed, rows, experts, out.get());
  MF_REQUIRE_OK(generator.Generate(n_nodes));
  RopeConfig config;
  config.rope_dim = kRopeDim;
  out->rope_configs = {config};
  return out;
}

std::vector<int32_t> RandomPlacement(const Graph& graph, int32_t n_backends, uint64_t seed) {
  Random random(seed);
  std::map<int32_t, int32_t> layer_backend;
  std::vector<int32_t> placement;
  int32_t current = 0;
  for (const Node& node : graph.nodes) {
    if (random.Below(3) == 0) current = random.Below(n_backends);
    int32_t chosen = current;
    const bool has_layer = node.op == OpKind::kKvStore || node.op == OpKind::kRopeKvStore ||
                           node.op == OpKind::kAttention;
    if (has_layer) chosen = layer_backend.emplace(node.attributes.layer, current).first->second;
    placement.push_back(chosen);
  }
  return placement;
}

}  // namespace minfer::testing
