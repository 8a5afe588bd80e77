// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The compute graph: nodes in execution order, the values between them, and the weights they name.
// It is plain data. Its topology depends on GraphParams and the model alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/op.h"
#include "tensor/element_type.h"

namespace minfer {

using ValueId = int32_t;
using NodeId = int32_t;
using WeightId = int32_t;
inline constexpr int32_t kNoId = -1;

enum class DataType : int32_t {
  kF32,
  kI32,
  kOrder,  // no bytes: says that one node must run before another
};

struct ValueShape {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t elements() const { return rows * cols; }
  friend bool operator==(const ValueShape&, const ValueShape&) = default;
};

struct Value {
  std::string name;
  DataType type = DataType::kF32;
  ValueShape shape;
  NodeId producer = kNoId;  // kNoId: an input, filled by the host before the step
  bool is_output = false;   // read back after the step

  uint64_t bytes() const {
    return type == DataType::kOrder ? 0 : static_cast<uint64_t>(shape.elements()) * 4;
  }
};

// A weight as the header of the file declares it: ne0 values a row, ne1 rows, and for experts ne2
// matrices of them, one after the other.
struct WeightInfo {
  std::string name;
  ElementType type = ElementType::kF32;
  int64_t ne0 = 0;
  int64_t ne1 = 1;
  uint64_t bytes = 0;
  int64_t ne2 = 1;

  int64_t elements() const { return ne0 * ne1 * ne2; }
  uint64_t row_bytes() const { return bytes / static_cast<uint64_t>(ne1 * ne2); }
};

struct Node {
  std::string name;
  OpKind op = OpKind::kAdd;
  OpAttributes attributes;
  std::vector<ValueId> inputs;
  std::vector<WeightId> weights;  // kNoId stands for an absent optional weight
  std::vector<ValueId> outputs;
};

// What a graph is built for. Rows come in two classes: decode rows first, each of a sequence of its
// own, which backends rely on, then prefill rows.
struct GraphParams {
  int32_t decode_rows = 0;
  int32_t prefill_rows = 0;
  int32_t output_rows = 0;   // rows of logits
  bool outputs_all = false;  // they are all rows in their order: selecting them changes nothing
  int32_t sequences = 1;     // rows of each page table
  int32_t pages_per_sequence = 1;  // columns of each page table
  bool fuse_qkv = true;
  bool fuse_gate_up = true;
  bool fuse_rope_store = true;

  int32_t rows() const { return decode_rows + prefill_rows; }
  friend bool operator==(const GraphParams&, const GraphParams&) = default;
};

struct Graph {
  uint64_t uid = 0;  // unique in its context; keys captured steps
  GraphParams params;
  const std::vector<WeightInfo>* weights = nullptr;  // the model's table; outlives the graph
  std::vector<Value> values;
  std::vector<Node> nodes;

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  const WeightInfo& weight(WeightId id) const { return (*weights)[static_cast<size_t>(id)]; }
  // kNoId when there is no such value.
  ValueId FindValue(std::string_view name) const;
};

// Checks everything that later stages rely on: ids in range, nodes in topological order, shapes as
// shape inference gives them, each computed value produced once. INTERNAL, naming the node.
Status ValidateGraph(const Graph& graph);

}  // namespace minfer
