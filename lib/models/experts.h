// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixture of experts: the keys, the weights and the block that such decoders share. T rows,
// E = n_embd, X experts of which U serve each row, F = n_ff_expert; S = T * U slots.
#pragma once

#include "models/architecture.h"

namespace minfer {

// Suffixes that ReadExpertKeys honours.
absl::Span<const std::string_view> ExpertKeys();

// A.expert_count (0 or absent: no experts, unless `required`) and what belongs to it. n_ff: rows of
// an expert where A.expert_feed_forward_length is absent. normalise: whether the weights of a row
// sum to 1 where A.expert_weights_norm is absent.
struct ExpertDefaults {
  bool required = false;
  int32_t n_ff = 0;
  bool normalise = true;
};
Status ReadExpertKeys(const ModelFiles& file, const ExpertDefaults& defaults, Hyperparameters* hp);

// The router and the experts of one layer, without biases.
Status CollectExpertWeights(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                            LayerWeights* w);

// What differs between architectures in a block of experts.
struct ExpertSettings {
  Activation activation = Activation::kSilu;
  float alpha = 0.0f;  // of kClampedSwiglu
  float limit = 0.0f;
};

// x [T, E], already normed -> the weighted sum over the chosen experts [T, E].
ValueId ExpertFfnBlock(const ModelDescription& model, int32_t layer, const ExpertSettings& settings,
                       ValueId x, GraphBuilder* builder);

}  // namespace minfer
