// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/print.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/str_cat.h"

namespace minfer {
namespace {

std::string_view TypeName(DataType type) {
  switch (type) {
    case DataType::kF32:
      return "f32";
    case DataType::kI32:
      return "i32";
    case DataType::kOrder:
      return "order";
  }
  return "unknown";
}

std::string Quote(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The shortest decimal that reads back as the same float; null for what JSON cannot say.
std::string Number(float value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end.ptr);
}

using Field = std::pair<std::string_view, std::string>;

void AddHeads(const OpAttributes& a, std::vector<Field>* fields) {
  fields->push_back({"layer", StrCat(a.layer)});
  fields->push_back({"n_kv_heads", StrCat(a.n_kv_heads)});
  fields->push_back({"head_dim", StrCat(a.head_dim)});
  fields->push_back({"head_dim_v", StrCat(a.head_dim_v)});
}

void AddRope(const OpAttributes& a, std::vector<Field>* fields) {
  fields->push_back({"rope_dim", StrCat(a.rope_dim)});
  fields->push_back({"rope_style", a.rope_style == RopeStyle::kNorm ? "\"norm\"" : "\"neox\""});
}

void AddActivation(const OpAttributes& a, std::vector<Field>* fields) {
  switch (a.activation) {
    case Activation::kSilu:
      fields->push_back({"activation", "\"silu\""});
      break;
    case Activation::kGeluTanh:
      fields->push_back({"activation", "\"gelu_tanh\""});
      break;
    case Activation::kClampedSwiglu:
      fields->push_back({"activation", "\"clamped_swiglu\""});
      fields->push_back({"alpha", Number(a.alpha)});
      fields->push_back({"limit", Number(a.limit)});
      break;
  }
}

// The attributes that the operation reads, each as a JSON value.
std::vector<Field> Attributes(const Node& node) {
  const OpAttributes& a = node.attributes;
  std::vector<Field> fields;
  switch (node.op) {
    case OpKind::kLayerNorm:
      fields = {{"eps", Number(a.eps)}};
      break;
    case OpKind::kRmsNorm:
      fields = {
          {"eps", Number(a.eps)}, {"n_heads", StrCat(a.n_heads)}, {"head_dim", StrCat(a.head_dim)}};
      break;
    case OpKind::kScale:
      fields = {{"factor", Number(a.factor)}};
      break;
    case OpKind::kSoftcap:
      fields = {{"softcap", Number(a.softcap)}};
      break;
    case OpKind::kAct:
    case OpKind::kGatedAct:
    case OpKind::kGatedMatMul:
      AddActivation(a, &fields);
      break;
    case OpKind::kRopeTable:
      fields = {{"rope_config", StrCat(a.rope_config)}, {"rope_dim", StrCat(a.rope_dim)}};
      break;
    case OpKind::kRope:
      fields = {{"n_heads", StrCat(a.n_heads)}, {"head_dim", StrCat(a.head_dim)}};
      AddRope(a, &fields);
      break;
    case OpKind::kKvStore:
      AddHeads(a, &fields);
      break;
    case OpKind::kRopeKvStore:
      AddHeads(a, &fields);
      AddRope(a, &fields);
      break;
    case OpKind::kAttention:
      AddHeads(a, &fields);
      fields.push_back({"n_heads", StrCat(a.n_heads)});
      fields.push_back({"scale", Number(a.scale)});
      fields.push_back({"softcap", Number(a.softcap)});
      fields.push_back({"window", StrCat(a.window)});
      break;
    case OpKind::kTopExperts:
      fields = {{"n_used", StrCat(a.n_used)},
                {"normalise", a.normalise ? "true" : "false"},
                {"factor", Number(a.factor)}};
      break;
    case OpKind::kGroupExperts:
      fields = {{"n_experts", StrCat(a.n_experts)}};
      break;
    case OpKind::kExpertMatMul:
      fields = {{"fan_out", StrCat(a.fan_out)}};
      break;
    case OpKind::kGetRows:
    case OpKind::kSelectRows:
    case OpKind::kCombineExperts:
    case OpKind::kGateRows:
    case OpKind::kMatMul:
    case OpKind::kMatMulGroup:
    case OpKind::kAddBias:
    case OpKind::kAdd:
    case OpKind::kMul:
      break;
  }
  return fields;
}

std::string Shape(const Value& value) {
  if (value.type == DataType::kOrder) return "order";
  return StrCat(TypeName(value.type), " ", value.shape.rows, " x ", value.shape.cols);
}

std::string TypeOf(const WeightInfo& weight) {
  const ElementTraits* traits = FindElementTraits(weight.type);
  return traits == nullptr ? StrCat("type ", static_cast<int>(weight.type)) : traits->name;
}

template <typename Ids>
std::string IdList(const Ids& ids) {
  std::string text = "[";
  for (size_t i = 0; i < ids.size(); ++i) text += StrCat(i == 0 ? "" : ", ", ids[i]);
  return text + "]";
}

std::string JsonParams(const GraphParams& p) {
  const auto flag = [](bool on) { return on ? "true" : "false"; };
  return StrCat("{\"decode_rows\": ", p.decode_rows, ", \"prefill_rows\": ", p.prefill_rows,
                ", \"output_rows\": ", p.output_rows, ", \"sequences\": ", p.sequences,
                ", \"pages_per_sequence\": ", p.pages_per_sequence,
                ", \"fuse_qkv\": ", flag(p.fuse_qkv), ", \"fuse_gate_up\": ", flag(p.fuse_gate_up),
                ", \"fuse_rope_store\": ", flag(p.fuse_rope_store), "}");
}

std::string JsonValue(const Value& value) {
  return StrCat("{\"name\": ", Quote(value.name), ", \"type\": \"", TypeName(value.type),
                "\", \"rows\": ", value.shape.rows, ", \"cols\": ", value.shape.cols,
                ", \"producer\": ", value.producer,
                ", \"output\": ", value.is_output ? "true" : "false", "}");
}

std::string JsonNode(const Graph& graph, const Node& node) {
  std::string text = StrCat("{\"name\": ", Quote(node.name), ", \"op\": \"", OpName(node.op),
                            "\", \"inputs\": ", IdList(node.inputs),
                            ", \"outputs\": ", IdList(node.outputs), ", \"weights\": [");
  for (size_t i = 0; i < node.weights.size(); ++i) {
    if (i > 0) text += ", ";
    text += node.weights[i] == kNoId ? "null" : Quote(graph.weight(node.weights[i]).name);
  }
  text += "], \"attributes\": {";
  const std::vector<Field> fields = Attributes(node);
  for (size_t i = 0; i < fields.size(); ++i) {
    text += StrCat(i == 0 ? "" : ", ", "\"", fields[i].first, "\": ", fields[i].second);
  }
  return text + "}}";
}

// One item a line, so that two graphs can be compared with a line diff.
template <typename Items, typename Print>
std::string JsonList(const Items& items, const Print& print) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    text += StrCat(i == 0 ? "\n    " : ",\n    ", print(items[i]));
  }
  return text + (items.empty() ? "]" : "\n  ]");
}

std::string DotLabel(const Graph& graph, const Node& node) {
  std::string label = StrCat(node.name, "\n", OpName(node.op));
  for (const Field& field : Attributes(node)) {
    label += StrCat("\n", field.first, " = ", field.second);
  }
  for (const WeightId id : node.weights) {
    if (id == kNoId) continue;
    const WeightInfo& weight = graph.weight(id);
    label += StrCat("\n", weight.name, ": ", TypeOf(weight), " ", weight.ne1, " x ", weight.ne0);
    if (weight.ne2 != 1) label += StrCat(" x ", weight.ne2, " experts");
  }
  return label;
}

}  // namespace

std::string PrintDot(const Graph& graph) {
  std::string text = "digraph minfer {\n  rankdir = TB;\n  node [shape = box];\n";
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.producer != kNoId) continue;
    text += StrCat("  v", i,
                   " [shape = ellipse, label = ", Quote(StrCat(value.name, "\n", Shape(value))),
                   "];\n");
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    text += StrCat("  n", i, " [label = ", Quote(DotLabel(graph, node)), "];\n");
    for (const ValueId input : node.inputs) {
      const Value& value = graph.value(input);
      const std::string from =
          value.producer == kNoId ? StrCat("v", input) : StrCat("n", value.producer);
      text += StrCat("  ", from, " -> n", i, " [label = ", Quote(Shape(value)),
                     value.type == DataType::kOrder ? ", style = dashed" : "", "];\n");
    }
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (!value.is_output) continue;
    text += StrCat("  out", i,
                   " [shape = ellipse, label = ", Quote(StrCat(value.name, "\n", Shape(value))),
                   "];\n  n", value.producer, " -> out", i, ";\n");
  }
  return text + "}\n";
}

std::string PrintJson(const Graph& graph) {
  return StrCat("{\n  \"params\": ", JsonParams(graph.params),
                ",\n  \"values\": ", JsonList(graph.values, JsonValue), ",\n  \"nodes\": ",
                JsonList(graph.nodes, [&graph](const Node& node) { return JsonNode(graph, node); }),
                "\n}\n");
}

}  // namespace minfer
