// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A transformer small enough to read, built as the model files build theirs: what the tests of
// graph, plan and backends run.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace minfer::testing {

struct TinyOptions {
  int32_t n_layers = 2;
  int32_t n_embd = 12;
  int32_t n_heads = 4;
  int32_t n_kv_heads = 2;
  int32_t head_dim = 6;
  int32_t head_dim_v = 6;
  int32_t rope_dim = 4;
  int32_t n_ff = 20;
  int32_t n_vocab = 17;
  int32_t window = 0;
  bool bias = false;     // on Q, K and V
  bool qk_norm = false;  // between product and rotation
  RopeStyle rope_style = RopeStyle::kNorm;
  Activation activation = Activation::kSilu;
  ElementType type = ElementType::kF32;        // of the matrices; sizes must be whole blocks
  ElementType value_type = ElementType::kF32;  // of V and the down projection
};

// The weight table and the graphs of one tiny model. The graphs point at `weights`.
class TinyTransformer {
 public:
  explicit TinyTransformer(const TinyOptions& options);
  TinyTransformer(const TinyTransformer&) = delete;
  TinyTransformer& operator=(const TinyTransformer&) = delete;

  // Inputs: ids, positions, cells, page_table, row_sequence, row_length, output_rows.
  // Output: logits.
  StatusOr<Graph> Build(const GraphParams& params) const;

  const TinyOptions& options() const { return options_; }
  const std::vector<WeightInfo>& weights() const { return weights_; }
  WeightId FindWeight(const std::string& name) const;
  std::vector<RopeConfig> rope_configs() const;

 private:
  void AddWeight(const std::string& name, int64_t ne0, int64_t ne1);
  void AddMatrix(const std::string& name, ElementType type, int64_t ne0, int64_t ne1);

  TinyOptions options_;
  std::vector<WeightInfo> weights_;
};

}  // namespace minfer::testing
