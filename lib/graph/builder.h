// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Builds a graph one operation at a time. Shapes are inferred; the first mistake is kept and handed
// out by Finish, so that model files read as plain formulas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace minfer {

class GraphBuilder {
 public:
  GraphBuilder(const GraphParams& params, const std::vector<WeightInfo>* weights);

  // Names of later nodes start with "prefix."; empty for none.
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }

  ValueId Input(std::string_view name, DataType type, ValueShape shape);
  ValueId GetRows(std::string_view name, WeightId table, ValueId ids);
  ValueId SelectRows(std::string_view name, ValueId x, ValueId row_ids);
  ValueId RmsNorm(std::string_view name, ValueId x, WeightId weight, float eps);
  ValueId HeadRmsNorm(std::string_view name, ValueId x, WeightId weight, float eps, int32_t n_heads,
                      int32_t head_dim);
  // bias may be kNoId.
  ValueId LayerNorm(std::string_view name, ValueId x, WeightId weight, WeightId bias, float eps);
  ValueId MatMul(std::string_view name, ValueId x, WeightId weight);
  // x unchanged when bias is kNoId.
  ValueId AddBias(std::string_view name, ValueId x, WeightId bias);
  ValueId Add(std::string_view name, ValueId a, ValueId b);
  ValueId Mul(std::string_view name, ValueId a, ValueId b);
  ValueId Scale(std::string_view name, ValueId x, float factor);
  ValueId Softcap(std::string_view name, ValueId x, float cap);
  ValueId Act(std::string_view name, ValueId x, Activation activation);
  ValueId GatedAct(std::string_view name, ValueId gate, ValueId up, Activation activation);
  ValueId ClampedSwiglu(std::string_view name, ValueId gate, ValueId up, float alpha, float limit);
  ValueId RopeTable(std::string_view name, ValueId positions, int32_t rope_config,
                    int32_t rope_dim);
  ValueId Rope(std::string_view name, ValueId x, ValueId table, const OpAttributes& attributes);
  ValueId KvStore(std::string_view name, ValueId k, ValueId v, ValueId cells,
                  const OpAttributes& attributes);
  ValueId Attention(std::string_view name, ValueId q, ValueId store, ValueId page_table,
                    ValueId row_sequence, ValueId row_length, const OpAttributes& attributes,
                    WeightId sinks = kNoId);
  // Scores [T, X] of a router -> the n_used best experts of each row and their weights: the softmax
  // over all scores, or over those chosen when `normalise`, times `factor`.
  struct ExpertChoice {
    ValueId ids = kNoId;
    ValueId weights = kNoId;
  };
  ExpertChoice TopExperts(std::string_view name, ValueId scores, int32_t n_used, bool normalise,
                          float factor);
  struct ExpertGroups {
    ValueId slots = kNoId;
    ValueId counts = kNoId;
  };
  ExpertGroups GroupExperts(std::string_view name, ValueId ids, int32_t n_experts);
  // bias: [N, X] or kNoId.
  ValueId ExpertMatMul(std::string_view name, ValueId x, const ExpertGroups& groups,
                       WeightId weight, WeightId bias, int32_t fan_out);
  ValueId CombineExperts(std::string_view name, ValueId y, ValueId weights);
  ValueId GateRows(std::string_view name, ValueId x, ValueId gate);
  void MarkOutput(ValueId value);

  // The graph, or the first error met while building. The builder is spent afterwards.
  StatusOr<Graph> Finish();

  const GraphParams& params() const { return graph_.params; }

 private:
  // The first output.
  ValueId AddNode(OpKind op, std::string_view name, OpAttributes attributes,
                  std::vector<ValueId> inputs, std::vector<WeightId> weights);
  // The second output of a node; its name is "NODE:1".
  ValueId SecondOutput(ValueId first) const;

  Graph graph_;
  std::string prefix_;
  Status status_;
};

}  // namespace minfer
