// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <utility>

#include "base/str_cat.h"
#include "graph/shape_inference.h"

namespace minfer {
namespace {

OpAttributes RopeTableAttributes(int32_t rope_config, int32_t rope_dim) {
  OpAttributes attributes;
  attributes.rope_config = rope_config;
  attributes.rope_dim = rope_dim;
  return attributes;
}

OpAttributes NormAttributes(float eps, int32_t n_heads, int32_t head_dim) {
  OpAttributes attributes;
  attributes.eps = eps;
  attributes.n_heads = n_heads;
  attributes.head_dim = head_dim;
  return attributes;
}

}  // namespace

GraphBuilder::GraphBuilder(const GraphParams& params, const std::vector<WeightInfo>* weights) {
  graph_.params = params;
  graph_.weights = weights;
}

ValueId GraphBuilder::Input(std::string_view name, DataType type, ValueShape shape) {
  if (!status_.ok()) return kNoId;
  Value value;
  value.name = std::string(name);
  value.type = type;
  value.shape = shape;
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId GraphBuilder::GetRows(std::string_view name, WeightId table, ValueId ids) {
  return AddNode(OpKind::kGetRows, name, {}, {ids}, {table});
}

ValueId GraphBuilder::SelectRows(std::string_view name, ValueId x, ValueId row_ids) {
  return AddNode(OpKind::kSelectRows, name, {}, {x, row_ids}, {});
}

ValueId GraphBuilder::RmsNorm(std::string_view name, ValueId x, WeightId weight, float eps) {
  if (!status_.ok()) return kNoId;
  const bool known = x >= 0 && static_cast<size_t>(x) < graph_.values.size();
  const int64_t cols = known ? graph_.value(x).shape.cols : 0;
  return HeadRmsNorm(name, x, weight, eps, 1, static_cast<int32_t>(cols));
}

ValueId GraphBuilder::HeadRmsNorm(std::string_view name, ValueId x, WeightId weight, float eps,
                                  int32_t n_heads, int32_t head_dim) {
  return AddNode(OpKind::kRmsNorm, name, NormAttributes(eps, n_heads, head_dim), {x}, {weight});
}

ValueId GraphBuilder::LayerNorm(std::string_view name, ValueId x, WeightId weight, WeightId bias,
                                float eps) {
  OpAttributes attributes;
  attributes.eps = eps;
  return AddNode(OpKind::kLayerNorm, name, attributes, {x}, {weight, bias});
}

ValueId GraphBuilder::MatMul(std::string_view name, ValueId x, WeightId weight) {
  return AddNode(OpKind::kMatMul, name, {}, {x}, {weight});
}

ValueId GraphBuilder::AddBias(std::string_view name, ValueId x, WeightId bias) {
  if (bias == kNoId) return x;
  return AddNode(OpKind::kAddBias, name, {}, {x}, {bias});
}

ValueId GraphBuilder::Add(std::string_view name, ValueId a, ValueId b) {
  return AddNode(OpKind::kAdd, name, {}, {a, b}, {});
}

ValueId GraphBuilder::Mul(std::string_view name, ValueId a, ValueId b) {
  return AddNode(OpKind::kMul, name, {}, {a, b}, {});
}

ValueId GraphBuilder::Scale(std::string_view name, ValueId x, float factor) {
  OpAttributes attributes;
  attributes.factor = factor;
  return AddNode(OpKind::kScale, name, attributes, {x}, {});
}

ValueId GraphBuilder::Softcap(std::string_view name, ValueId x, float cap) {
  OpAttributes attributes;
  attributes.softcap = cap;
  return AddNode(OpKind::kSoftcap, name, attributes, {x}, {});
}

ValueId GraphBuilder::Act(std::string_view name, ValueId x, Activation activation) {
  OpAttributes attributes;
  attributes.activation = activation;
  return AddNode(OpKind::kAct, name, attributes, {x}, {});
}

ValueId GraphBuilder::GatedAct(std::string_view name, ValueId gate, ValueId up,
                               Activation activation) {
  OpAttributes attributes;
  attributes.activation = activation;
  return AddNode(OpKind::kGatedAct, name, attributes, {gate, up}, {});
}

ValueId GraphBuilder::ClampedSwiglu(std::string_view name, ValueId gate, ValueId up, float alpha,
                                    float limit) {
  OpAttributes attributes;
  attributes.activation = Activation::kClampedSwiglu;
  attributes.alpha = alpha;
  attributes.limit = limit;
  return AddNode(OpKind::kGatedAct, name, attributes, {gate, up}, {});
}

ValueId GraphBuilder::RopeTable(std::string_view name, ValueId positions, int32_t rope_config,
                                int32_t rope_dim) {
  return AddNode(OpKind::kRopeTable, name, RopeTableAttributes(rope_config, rope_dim), {positions},
                 {});
}

ValueId GraphBuilder::Rope(std::string_view name, ValueId x, ValueId table,
                           const OpAttributes& attributes) {
  return AddNode(OpKind::kRope, name, attributes, {x, table}, {});
}

ValueId GraphBuilder::KvStore(std::string_view name, ValueId k, ValueId v, ValueId cells,
                              const OpAttributes& attributes) {
  return AddNode(OpKind::kKvStore, name, attributes, {k, v, cells}, {});
}

ValueId GraphBuilder::Attention(std::string_view name, ValueId q, ValueId store, ValueId page_table,
                                ValueId row_sequence, ValueId row_length,
                                const OpAttributes& attributes, WeightId sinks) {
  std::vector<WeightId> weights;
  if (sinks != kNoId) weights.push_back(sinks);
  return AddNode(OpKind::kAttention, name, attributes,
                 {q, store, page_table, row_sequence, row_length}, std::move(weights));
}

GraphBuilder::ExpertChoice GraphBuilder::TopExperts(std::string_view name, ValueId scores,
                                                    int32_t n_used, bool normalise, float factor) {
  OpAttributes attributes;
  attributes.n_used = n_used;
  attributes.normalise = normalise;
  attributes.factor = factor;
  const ValueId ids = AddNode(OpKind::kTopExperts, name, attributes, {scores}, {});
  return {ids, SecondOutput(ids)};
}

GraphBuilder::ExpertGroups GraphBuilder::GroupExperts(std::string_view name, ValueId ids,
                                                      int32_t n_experts) {
  OpAttributes attributes;
  attributes.n_experts = n_experts;
  const ValueId slots = AddNode(OpKind::kGroupExperts, name, attributes, {ids}, {});
  return {slots, SecondOutput(slots)};
}

ValueId GraphBuilder::ExpertMatMul(std::string_view name, ValueId x, const ExpertGroups& groups,
                                   WeightId weight, WeightId bias, int32_t fan_out) {
  OpAttributes attributes;
  attributes.fan_out = fan_out;
  return AddNode(OpKind::kExpertMatMul, name, attributes, {x, groups.slots, groups.counts},
                 {weight, bias});
}

ValueId GraphBuilder::CombineExperts(std::string_view name, ValueId y, ValueId weights) {
  return AddNode(OpKind::kCombineExperts, name, {}, {y, weights}, {});
}

ValueId GraphBuilder::GateRows(std::string_view name, ValueId x, ValueId gate) {
  return AddNode(OpKind::kGateRows, name, {}, {x, gate}, {});
}

// A node's outputs are neighbours.
ValueId GraphBuilder::SecondOutput(ValueId first) const {
  return first == kNoId ? kNoId : first + 1;
}

void GraphBuilder::MarkOutput(ValueId value) {
  if (!status_.ok()) return;
  if (value < 0 || static_cast<size_t>(value) >= graph_.values.size()) {
    status_ = Status(StatusCode::kInternal, Subsystem::kGraph,
                     StrCat("output value id ", value, " out of range"));
    return;
  }
  graph_.values[static_cast<size_t>(value)].is_output = true;
}

StatusOr<Graph> GraphBuilder::Finish() {
  MF_RETURN_IF_ERROR(status_);
  MF_RETURN_IF_ERROR(ValidateGraph(graph_));
  return std::move(graph_);
}

ValueId GraphBuilder::AddNode(OpKind op, std::string_view name, OpAttributes attributes,
                              std::vector<ValueId> inputs, std::vector<WeightId> weights) {
  if (!status_.ok()) return kNoId;
  Node node;
  node.name = prefix_.empty() ? std::string(name) : StrCat(prefix_, ".", name);
  node.op = op;
  node.attributes = attributes;
  node.inputs = std::move(inputs);
  node.weights = std::move(weights);
  const auto fail = [&](std::string message) {
    status_ =
        Status(StatusCode::kInternal, Subsystem::kGraph, std::move(message)).WithName(node.name);
    return kNoId;
  };
  const size_t weight_count = graph_.weights == nullptr ? 0 : graph_.weights->size();
  for (const ValueId id : node.inputs) {
    if (id < 0 || static_cast<size_t>(id) >= graph_.values.size()) {
      return fail(StrCat("input value id ", id, " out of range"));
    }
  }
  for (const WeightId id : node.weights) {
    if (id != kNoId && (id < 0 || static_cast<size_t>(id) >= weight_count)) {
      return fail(StrCat("weight id ", id, " out of range, ", weight_count, " weights"));
    }
  }
  StatusOr<std::vector<InferredValue>> inferred = InferOutputs(graph_, node);
  if (!inferred.ok()) {
    status_ = inferred.status();
    return kNoId;
  }
  const auto first = static_cast<ValueId>(graph_.values.size());
  for (size_t i = 0; i < inferred->size(); ++i) {
    Value value;
    value.name = i == 0 ? node.name : StrCat(node.name, ":", i);
    value.type = (*inferred)[i].type;
    value.shape = (*inferred)[i].shape;
    value.producer = static_cast<NodeId>(graph_.nodes.size());
    node.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back(std::move(value));
  }
  graph_.nodes.push_back(std::move(node));
  return first;
}

}  // namespace minfer
