// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The weights of a model by role. Each is an index into one table, kNoId where the model has none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "gguf/model_files.h"
#include "graph/graph.h"

namespace minfer {

struct LayerWeights {
  WeightId attn_norm = kNoId;       // [n_embd]
  WeightId attn_norm_bias = kNoId;  // [n_embd]
  WeightId attn_post_norm = kNoId;  // [n_embd], of the attention's result
  WeightId q = kNoId;               // [n_embd, n_heads * head_dim_k]
  WeightId k = kNoId;               // [n_embd, n_kv_heads * head_dim_k]
  WeightId v = kNoId;               // [n_embd, n_kv_heads * head_dim_v]
  WeightId o = kNoId;               // [n_heads * head_dim_v, n_embd]
  WeightId q_bias = kNoId;          // [n_heads * head_dim_k]
  WeightId k_bias = kNoId;          // [n_kv_heads * head_dim_k]
  WeightId v_bias = kNoId;          // [n_kv_heads * head_dim_v]
  WeightId o_bias = kNoId;          // [n_embd]
  WeightId q_norm = kNoId;          // [head_dim_k], or [n_heads * head_dim_k]
  WeightId k_norm = kNoId;          // [head_dim_k], or [n_kv_heads * head_dim_k]
  WeightId ffn_norm = kNoId;        // [n_embd]
  WeightId ffn_norm_bias = kNoId;   // [n_embd]
  WeightId ffn_post_norm = kNoId;   // [n_embd], of the FFN's result
  WeightId gate = kNoId;            // [n_embd, n_ff]
  WeightId up = kNoId;              // [n_embd, n_ff]
  WeightId down = kNoId;            // [n_ff, n_embd]
  WeightId gate_bias = kNoId;       // [n_ff]
  WeightId up_bias = kNoId;         // [n_ff]
  WeightId down_bias = kNoId;       // [n_embd]
  // Mixture of experts. Beside them, gate, up and down are those of the shared expert, with rows of
  // n_ff_shared.
  WeightId router = kNoId;            // [n_embd, n_experts]
  WeightId router_bias = kNoId;       // [n_experts]
  WeightId expert_gate = kNoId;       // [n_embd, n_ff_expert, n_experts]
  WeightId expert_up = kNoId;         // [n_embd, n_ff_expert, n_experts]
  WeightId expert_down = kNoId;       // [n_ff_expert, n_embd, n_experts]
  WeightId expert_gate_bias = kNoId;  // [n_ff_expert, n_experts]
  WeightId expert_up_bias = kNoId;    // [n_ff_expert, n_experts]
  WeightId expert_down_bias = kNoId;  // [n_embd, n_experts]
  WeightId shared_gate = kNoId;       // [n_embd, 1]
  WeightId sinks = kNoId;             // [n_heads], of the attention
};

struct ModelWeights {
  WeightId token_embd = kNoId;        // [n_embd, n_vocab]
  WeightId output_norm = kNoId;       // [n_embd]
  WeightId output_norm_bias = kNoId;  // [n_embd]
  WeightId output = kNoId;            // [n_embd, n_vocab]; token_embd where the file has none
  std::vector<LayerWeights> layers;
};

// Where the bytes of a weight stand in the file: in tensors that follow one another, from `offset`
// on in the first of them. More than one only where each expert has its own tensor.
struct WeightPlace {
  std::vector<size_t> tensors;
  uint64_t offset = 0;
};

// Finds tensors by name, checks their shapes and types, and numbers them.
class WeightCollector {
 public:
  explicit WeightCollector(const ModelFiles* file) : file_(file) {}

  // A matrix that kernels multiply or gather from, in any type that can be decoded.
  StatusOr<WeightId> Matrix(std::string_view name, int64_t ne0, int64_t ne1);
  // One tensor that holds several matrices, one after the other: ranges of its rows, read in place.
  StatusOr<std::vector<WeightId>> StackedMatrices(std::string_view name, int64_t ne0,
                                                  absl::Span<const int64_t> ne1);
  // One matrix an expert, in the tensor `name` or, as older files have it, in one tensor an expert:
  // "blk.0.ffn_up_exps.weight" is then "blk.0.ffn_up.0.weight" and so on.
  StatusOr<WeightId> Experts(std::string_view name, int64_t ne0, int64_t ne1, int64_t n_experts);
  // A row of f32 an expert.
  StatusOr<WeightId> ExpertBiases(std::string_view name, int64_t ne0, int64_t n_experts);
  // A vector of f32: a norm or a bias.
  StatusOr<WeightId> Vector(std::string_view name, int64_t ne0);
  // kNoId where the file has no such tensor.
  StatusOr<WeightId> OptionalVector(std::string_view name, int64_t ne0);
  // Used by the loader and not by the graph (frequency factors); the name counts as known.
  void MarkKnown(std::string_view name);
  bool Has(std::string_view name) const;

  // INVALID_ARGUMENT naming the first tensor that nothing asked for.
  Status RefuseUnknownTensors() const;

  std::vector<WeightInfo> TakeTable() { return std::move(table_); }
  std::vector<WeightPlace> TakePlaces() { return std::move(places_); }

 private:
  StatusOr<WeightId> Add(std::string_view name, int64_t ne0, int64_t ne1, int64_t ne2,
                         bool must_be_f32);
  StatusOr<WeightId> SeparateExperts(std::string_view name, int64_t ne0, int64_t ne1,
                                     int64_t n_experts);

  const ModelFiles* file_;
  std::vector<WeightInfo> table_;
  std::vector<WeightPlace> places_;
  std::vector<bool> known_;
};

}  // namespace minfer
