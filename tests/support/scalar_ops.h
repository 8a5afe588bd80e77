// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Every operation of the graph in plain scalar code, sums in double: right by reading. It shares
// nothing with the kernels but the decoding of stored weights, which has vectors of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace minfer::testing {

// The weights of a model, decoded, by id; an empty one was not given.
using ScalarWeights = std::vector<std::vector<float>>;

// One layer's KV pages. A row is [kv head][dim]; a page is 64 rows; q8_0 holds, for each 32 values
// of a head, an f16 scale and the int8 values.
struct ScalarKv {
  uint8_t* k = nullptr;
  uint8_t* v = nullptr;
  uint64_t k_page_bytes = 0;
  uint64_t v_page_bytes = 0;
  uint64_t k_bytes = 0;  // of all pages
  uint64_t v_bytes = 0;
  KvFormat k_format = KvFormat::kF32;
  KvFormat v_format = KvFormat::kF32;
};

// A node with everything it needs, so that it can run after its graph is gone.
struct ScalarCall {
  Node node;
  std::vector<ValueShape> input_shapes;
  std::vector<ValueShape> output_shapes;
  std::vector<std::vector<int64_t>> weight_shapes;  // {ne0, ne1}; empty for an absent weight
  std::vector<const void*> inputs;
  std::vector<void*> outputs;  // may be the memory of an input
  const ScalarWeights* weights = nullptr;
  RopeConfig rope_config;  // kRopeTable
  ScalarKv kv;
};

// Fills node, shapes and the rope settings of a call.
ScalarCall MakeScalarCall(const Graph& graph, const Node& node,
                          absl::Span<const RopeConfig> rope_configs);

// INTERNAL with the node's name for ids, cells and pages out of range and absent weights.
Status RunScalar(const ScalarCall& call);

// The bytes of a page in the layout of ScalarKv.
KvPageBytes ScalarPageBytes(const KvLayerShape& shape);

// Decodes a stored weight whole.
StatusOr<std::vector<float>> DecodeWeight(const WeightInfo& info, const void* data);

// The parts that scalar_attention.cc adds.
Status ScalarError(const ScalarCall& call, const std::string& what);
std::vector<float> ScalarRotate(const float* x, const float* cos_sin, int64_t rows, int32_t n_heads,
                                const OpAttributes& attributes);
Status ScalarKvStore(const ScalarCall& call, const float* k, const float* v, const int32_t* cells);
// sinks: nullptr for none.
Status ScalarAttention(const ScalarCall& call, const float* sinks, std::vector<float>* out);

// The parts that scalar_experts.cc adds. bias: nullptr for none.
Status ScalarTopExperts(const ScalarCall& call);
Status ScalarGroupExperts(const ScalarCall& call);
Status ScalarExpertMatMul(const ScalarCall& call, const float* weights, const float* bias);
Status ScalarCombineExperts(const ScalarCall& call);
Status ScalarGateRows(const ScalarCall& call);

}  // namespace minfer::testing
