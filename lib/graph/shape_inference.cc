// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/shape_inference.h"

#include "base/str_cat.h"

namespace minfer {
namespace {

// Sizes beyond this are mistakes, and products of two of them still fit in 64 bits.
constexpr int64_t kLargestExtent = int64_t{1} << 31;

// One node under inspection: fetches its parts, and words the errors.
class NodeShapes {
 public:
  NodeShapes(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const OpAttributes& attributes() const { return node_.attributes; }
  const Value& input(size_t i) const { return graph_.value(node_.inputs[i]); }
  const WeightInfo& weight(size_t i) const { return graph_.weight(node_.weights[i]); }
  size_t weight_count() const { return node_.weights.size(); }
  bool has_weight(size_t i) const { return node_.weights[i] != kNoId; }

  Status Fail(const std::string& message) const {
    return Status(StatusCode::kInternal, Subsystem::kGraph, StrCat(OpName(node_.op), ": ", message))
        .WithName(node_.name);
  }

  Status Counts(size_t inputs, size_t weights) const {
    if (node_.inputs.size() != inputs || node_.weights.size() != weights) {
      return Fail(StrCat("has ", node_.inputs.size(), " inputs and ", node_.weights.size(),
                         " weights, expected ", inputs, " and ", weights));
    }
    for (size_t i = 0; i < weights; ++i) MF_RETURN_IF_ERROR(Weight(i));
    return OkStatus();
  }

  Status Inputs(size_t count) const {
    if (node_.inputs.size() == count) return OkStatus();
    return Fail(StrCat("has ", node_.inputs.size(), " inputs, expected ", count));
  }

  Status Type(size_t i, DataType type) const {
    if (input(i).type != type) {
      return Fail(StrCat("input ", i, " '", input(i).name, "' has data type ",
                         static_cast<int>(input(i).type), ", expected ", static_cast<int>(type)));
    }
    return OkStatus();
  }

  Status Matrix(size_t i, DataType type, int64_t rows, int64_t cols) const {
    MF_RETURN_IF_ERROR(Type(i, type));
    const ValueShape& shape = input(i).shape;
    if (shape.rows != rows || shape.cols != cols) {
      return Fail(StrCat("input ", i, " '", input(i).name, "' is ", shape.rows, " x ", shape.cols,
                         ", expected ", rows, " x ", cols));
    }
    return OkStatus();
  }

  // A column of int32, one a row of something else.
  Status Ids(size_t i, int64_t rows) const { return Matrix(i, DataType::kI32, rows, 1); }

  Status Weight(size_t i) const { return Matrices(i, 1); }

  // A weight of `experts` matrices.
  Status Matrices(size_t i, int64_t experts) const {
    if (!has_weight(i)) return Fail(StrCat("weight ", i, " is absent"));
    const WeightInfo& info = weight(i);
    if (info.ne0 <= 0 || info.ne0 >= kLargestExtent || info.ne1 <= 0 ||
        info.ne1 >= kLargestExtent) {
      return Fail(StrCat("weight '", info.name, "' is ", info.ne0, " x ", info.ne1));
    }
    if (info.ne2 != experts) {
      return Fail(
          StrCat("weight '", info.name, "' has ", info.ne2, " matrices, expected ", experts));
    }
    return OkStatus();
  }

  Status VectorWeight(size_t i, int64_t size) const {
    MF_RETURN_IF_ERROR(Weight(i));
    if (weight(i).ne0 != size || weight(i).ne1 != 1) {
      return Fail(StrCat("weight '", weight(i).name, "' is ", weight(i).ne0, " x ", weight(i).ne1,
                         ", expected ", size, " x 1"));
    }
    return OkStatus();
  }

  Status RowLength(size_t i, int64_t cols) const {
    if (weight(i).ne0 != cols) {
      return Fail(StrCat("weight '", weight(i).name, "' has rows of ", weight(i).ne0,
                         " values, the input has ", cols));
    }
    return OkStatus();
  }

  Status Positive(std::string_view what, int64_t number) const {
    if (number <= 0) return Fail(StrCat(what, " is ", number));
    return OkStatus();
  }

  Status RopeDim(int32_t head_dim) const {
    const int32_t rope_dim = attributes().rope_dim;
    if (rope_dim <= 0 || rope_dim % 2 != 0 || rope_dim > head_dim) {
      return Fail(StrCat("rope_dim is ", rope_dim, " for a head of ", head_dim));
    }
    return OkStatus();
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

using Inferred = StatusOr<std::vector<InferredValue>>;

std::vector<InferredValue> One(ValueShape shape) { return {{DataType::kF32, shape}}; }

Inferred InferGetRows(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 1));
  MF_RETURN_IF_ERROR(node.Ids(0, node.input(0).shape.rows));
  return One({node.input(0).shape.rows, node.weight(0).ne0});
}

Inferred InferSelectRows(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(2, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.Ids(1, node.input(1).shape.rows));
  return One({node.input(1).shape.rows, node.input(0).shape.cols});
}

Inferred InferRmsNorm(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 1));
  const OpAttributes& a = node.attributes();
  MF_RETURN_IF_ERROR(node.Positive("n_heads", a.n_heads));
  MF_RETURN_IF_ERROR(node.Positive("head_dim", a.head_dim));
  const ValueShape& x = node.input(0).shape;
  MF_RETURN_IF_ERROR(
      node.Matrix(0, DataType::kF32, x.rows, static_cast<int64_t>(a.n_heads) * a.head_dim));
  MF_RETURN_IF_ERROR(node.VectorWeight(0, a.head_dim));
  return One(x);
}

Inferred InferLayerNorm(const NodeShapes& node) {
  if (node.weight_count() != 2) {
    return node.Fail(StrCat("has ", node.weight_count(), " weights, expected a weight and a bias"));
  }
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  const ValueShape& x = node.input(0).shape;
  MF_RETURN_IF_ERROR(node.VectorWeight(0, x.cols));
  if (node.has_weight(1)) MF_RETURN_IF_ERROR(node.VectorWeight(1, x.cols));
  return One(x);
}

Inferred InferMatMul(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 1));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.RowLength(0, node.input(0).shape.cols));
  return One({node.input(0).shape.rows, node.weight(0).ne1});
}

Inferred InferMatMulGroup(const NodeShapes& node) {
  const size_t count = node.weight_count() / 2;
  if (count == 0 || node.weight_count() % 2 != 0) {
    return node.Fail(StrCat("has ", node.weight_count(), " weights, expected n and n biases"));
  }
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  const ValueShape& x = node.input(0).shape;
  std::vector<InferredValue> outputs;
  for (size_t i = 0; i < count; ++i) {
    MF_RETURN_IF_ERROR(node.Weight(i));
    MF_RETURN_IF_ERROR(node.RowLength(i, x.cols));
    if (node.has_weight(count + i)) {
      MF_RETURN_IF_ERROR(node.VectorWeight(count + i, node.weight(i).ne1));
    }
    outputs.push_back({DataType::kF32, {x.rows, node.weight(i).ne1}});
  }
  return outputs;
}

Inferred InferAddBias(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 1));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.VectorWeight(0, node.input(0).shape.cols));
  return One(node.input(0).shape);
}

Inferred InferUnary(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  return One(node.input(0).shape);
}

Inferred InferBinary(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(2, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  const ValueShape& a = node.input(0).shape;
  MF_RETURN_IF_ERROR(node.Matrix(1, DataType::kF32, a.rows, a.cols));
  return One(a);
}

Inferred InferGatedMatMul(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 2));
  if (node.attributes().activation == Activation::kClampedSwiglu) {
    return node.Fail("clamped_swiglu has no fused form");
  }
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.RowLength(0, node.input(0).shape.cols));
  MF_RETURN_IF_ERROR(node.RowLength(1, node.input(0).shape.cols));
  if (node.weight(0).ne1 != node.weight(1).ne1) {
    return node.Fail(StrCat("gate '", node.weight(0).name, "' has ", node.weight(0).ne1,
                            " rows, up '", node.weight(1).name, "' has ", node.weight(1).ne1));
  }
  return One({node.input(0).shape.rows, node.weight(0).ne1});
}

Inferred InferRopeTable(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 0));
  const int32_t rope_dim = node.attributes().rope_dim;
  MF_RETURN_IF_ERROR(node.Ids(0, node.input(0).shape.rows));
  MF_RETURN_IF_ERROR(node.RopeDim(rope_dim));
  if (node.attributes().rope_config < 0) {
    return node.Fail(StrCat("rope_config is ", node.attributes().rope_config));
  }
  return One({node.input(0).shape.rows, rope_dim});
}

Inferred InferRope(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(2, 0));
  const OpAttributes& a = node.attributes();
  MF_RETURN_IF_ERROR(node.Positive("n_heads", a.n_heads));
  MF_RETURN_IF_ERROR(node.RopeDim(a.head_dim));
  const ValueShape& x = node.input(0).shape;
  MF_RETURN_IF_ERROR(
      node.Matrix(0, DataType::kF32, x.rows, static_cast<int64_t>(a.n_heads) * a.head_dim));
  MF_RETURN_IF_ERROR(node.Matrix(1, DataType::kF32, x.rows, a.rope_dim));
  return One(x);
}

// What kKvStore, kRopeKvStore and kAttention say about their layer.
Status CheckLayer(const NodeShapes& node) {
  const OpAttributes& a = node.attributes();
  if (a.layer < 0) return node.Fail(StrCat("layer is ", a.layer));
  MF_RETURN_IF_ERROR(node.Positive("n_kv_heads", a.n_kv_heads));
  MF_RETURN_IF_ERROR(node.Positive("head_dim", a.head_dim));
  return node.Positive("head_dim_v", a.head_dim_v);
}

Status CheckStoredRows(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(CheckLayer(node));
  const OpAttributes& a = node.attributes();
  const int64_t rows = node.input(0).shape.rows;
  const int64_t heads = a.n_kv_heads;
  MF_RETURN_IF_ERROR(node.Matrix(0, DataType::kF32, rows, heads * a.head_dim));
  return node.Matrix(1, DataType::kF32, rows, heads * a.head_dim_v);
}

Inferred InferKvStore(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(3, 0));
  MF_RETURN_IF_ERROR(CheckStoredRows(node));
  MF_RETURN_IF_ERROR(node.Ids(2, node.input(0).shape.rows));
  return std::vector<InferredValue>{{DataType::kOrder, {}}};
}

Inferred InferRopeKvStore(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(4, 0));
  MF_RETURN_IF_ERROR(CheckStoredRows(node));
  const int64_t rows = node.input(0).shape.rows;
  MF_RETURN_IF_ERROR(node.RopeDim(node.attributes().head_dim));
  MF_RETURN_IF_ERROR(node.Matrix(2, DataType::kF32, rows, node.attributes().rope_dim));
  MF_RETURN_IF_ERROR(node.Ids(3, rows));
  return std::vector<InferredValue>{{DataType::kOrder, {}}};
}

// The order edge must come from the store of the same layer, made for the same heads.
Status CheckStoreOf(const NodeShapes& node, const Graph& graph) {
  const Value& order = node.input(1);
  const auto producer = static_cast<size_t>(order.producer);
  if (order.producer < 0 || producer >= graph.nodes.size()) {
    return node.Fail(StrCat("order edge '", order.name, "' comes from node ", order.producer));
  }
  const OpAttributes& a = node.attributes();
  const OpAttributes& store = graph.nodes[producer].attributes;
  if (store.layer != a.layer || store.n_kv_heads != a.n_kv_heads || store.head_dim != a.head_dim ||
      store.head_dim_v != a.head_dim_v) {
    return node.Fail(StrCat("layer ", a.layer, " with ", a.n_kv_heads, " heads of ", a.head_dim,
                            " and ", a.head_dim_v, " reads the store of layer ", store.layer,
                            " with ", store.n_kv_heads, " heads of ", store.head_dim, " and ",
                            store.head_dim_v));
  }
  return OkStatus();
}

Inferred InferAttention(const NodeShapes& node, const Graph& graph) {
  MF_RETURN_IF_ERROR(node.Counts(5, node.weight_count() == 1 ? 1 : 0));
  MF_RETURN_IF_ERROR(CheckLayer(node));
  const OpAttributes& a = node.attributes();
  if (node.weight_count() == 1) MF_RETURN_IF_ERROR(node.VectorWeight(0, a.n_heads));
  if (a.n_heads <= 0 || a.n_heads % a.n_kv_heads != 0) {
    return node.Fail(StrCat(a.n_heads, " heads over ", a.n_kv_heads, " KV heads"));
  }
  const int64_t rows = node.input(0).shape.rows;
  MF_RETURN_IF_ERROR(
      node.Matrix(0, DataType::kF32, rows, static_cast<int64_t>(a.n_heads) * a.head_dim));
  MF_RETURN_IF_ERROR(node.Type(1, DataType::kOrder));
  MF_RETURN_IF_ERROR(CheckStoreOf(node, graph));
  MF_RETURN_IF_ERROR(node.Type(2, DataType::kI32));
  MF_RETURN_IF_ERROR(node.Ids(3, rows));
  MF_RETURN_IF_ERROR(node.Ids(4, rows));
  return One({rows, static_cast<int64_t>(a.n_heads) * a.head_dim_v});
}

Inferred InferAct(const NodeShapes& node) {
  if (node.attributes().activation == Activation::kClampedSwiglu) {
    return node.Fail("clamped_swiglu wants a gate and an up");
  }
  return InferUnary(node);
}

Inferred InferTopExperts(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  const ValueShape& scores = node.input(0).shape;
  const int64_t n_used = node.attributes().n_used;
  if (n_used <= 0 || n_used > scores.cols) {
    return node.Fail(StrCat(n_used, " of ", scores.cols, " experts are used"));
  }
  if (scores.rows * n_used >= kLargestExtent) {
    return node.Fail(StrCat(scores.rows, " rows by ", n_used, " experts"));
  }
  const ValueShape chosen{scores.rows, n_used};
  return std::vector<InferredValue>{{DataType::kI32, chosen}, {DataType::kF32, chosen}};
}

Inferred InferGroupExperts(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(1, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kI32));
  MF_RETURN_IF_ERROR(node.Positive("n_experts", node.attributes().n_experts));
  if (node.input(0).shape.elements() >= kLargestExtent) {
    return node.Fail(StrCat(node.input(0).shape.elements(), " slots"));
  }
  return std::vector<InferredValue>{{DataType::kI32, {node.input(0).shape.elements(), 1}},
                                    {DataType::kI32, {node.attributes().n_experts, 1}}};
}

Inferred InferExpertMatMul(const NodeShapes& node) {
  if (node.weight_count() != 2) {
    return node.Fail(StrCat("has ", node.weight_count(), " weights, expected one and a bias"));
  }
  MF_RETURN_IF_ERROR(node.Inputs(3));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.Positive("fan_out", node.attributes().fan_out));
  const ValueShape& x = node.input(0).shape;
  const int64_t experts = node.input(2).shape.rows;
  const int64_t slots = x.rows * node.attributes().fan_out;
  MF_RETURN_IF_ERROR(node.Ids(1, slots));
  MF_RETURN_IF_ERROR(node.Ids(2, experts));
  MF_RETURN_IF_ERROR(node.Matrices(0, experts));
  MF_RETURN_IF_ERROR(node.RowLength(0, x.cols));
  if (node.has_weight(1)) {
    MF_RETURN_IF_ERROR(node.Weight(1));
    MF_RETURN_IF_ERROR(node.RowLength(1, node.weight(0).ne1));
    if (node.weight(1).ne1 != experts) {
      return node.Fail(StrCat("weight '", node.weight(1).name, "' has ", node.weight(1).ne1,
                              " rows for ", experts, " experts"));
    }
  }
  return One({slots, node.weight(0).ne1});
}

Inferred InferCombineExperts(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(2, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.Type(1, DataType::kF32));
  const ValueShape& weights = node.input(1).shape;
  const ValueShape& y = node.input(0).shape;
  MF_RETURN_IF_ERROR(node.Matrix(0, DataType::kF32, weights.elements(), y.cols));
  return One({weights.rows, y.cols});
}

Inferred InferGateRows(const NodeShapes& node) {
  MF_RETURN_IF_ERROR(node.Counts(2, 0));
  MF_RETURN_IF_ERROR(node.Type(0, DataType::kF32));
  MF_RETURN_IF_ERROR(node.Matrix(1, DataType::kF32, node.input(0).shape.rows, 1));
  return One(node.input(0).shape);
}

Inferred InferByKind(const NodeShapes& node, const Graph& graph, OpKind op) {
  switch (op) {
    case OpKind::kGetRows:
      return InferGetRows(node);
    case OpKind::kSelectRows:
      return InferSelectRows(node);
    case OpKind::kRmsNorm:
      return InferRmsNorm(node);
    case OpKind::kLayerNorm:
      return InferLayerNorm(node);
    case OpKind::kMatMul:
      return InferMatMul(node);
    case OpKind::kMatMulGroup:
      return InferMatMulGroup(node);
    case OpKind::kAddBias:
      return InferAddBias(node);
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kGatedAct:
      return InferBinary(node);
    case OpKind::kScale:
    case OpKind::kSoftcap:
      return InferUnary(node);
    case OpKind::kAct:
      return InferAct(node);
    case OpKind::kGatedMatMul:
      return InferGatedMatMul(node);
    case OpKind::kRopeTable:
      return InferRopeTable(node);
    case OpKind::kRope:
      return InferRope(node);
    case OpKind::kKvStore:
      return InferKvStore(node);
    case OpKind::kRopeKvStore:
      return InferRopeKvStore(node);
    case OpKind::kAttention:
      return InferAttention(node, graph);
    case OpKind::kTopExperts:
      return InferTopExperts(node);
    case OpKind::kGroupExperts:
      return InferGroupExperts(node);
    case OpKind::kExpertMatMul:
      return InferExpertMatMul(node);
    case OpKind::kCombineExperts:
      return InferCombineExperts(node);
    case OpKind::kGateRows:
      return InferGateRows(node);
  }
  return node.Fail(StrCat("unknown operation ", static_cast<int>(op)));
}

}  // namespace

StatusOr<std::vector<InferredValue>> InferOutputs(const Graph& graph, const Node& node) {
  const NodeShapes shapes(graph, node);
  if (node.inputs.empty()) return shapes.Fail("has no input");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueShape& shape = shapes.input(i).shape;
    if (shape.rows < 0 || shape.rows >= kLargestExtent || shape.cols < 0 ||
        shape.cols >= kLargestExtent) {
      return shapes.Fail(
          StrCat("input ", i, " '", shapes.input(i).name, "' is ", shape.rows, " x ", shape.cols));
    }
  }
  return InferByKind(shapes, graph, node.op);
}

}  // namespace minfer
