// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The parts that decoder-only transformers share. T rows, E = n_embd, H heads of D values, K KV
// heads, F = n_ff.
#pragma once

#include "models/architecture.h"

namespace minfer {

// What differs between architectures in a block of attention.
struct AttentionSettings {
  RopeStyle rope_style = RopeStyle::kNorm;
  ValueId rope_table = kNoId;
  float scale = 0.0f;    // scores are multiplied by it
  float softcap = 0.0f;  // then become softcap * tanh(score / softcap); 0: stay
};

// x [T, E], already normed -> W_o of the attention over the layer's cache [T, E].
ValueId AttentionBlock(const ModelDescription& model, const StepInputs& inputs, int32_t layer,
                       const AttentionSettings& settings, ValueId x, GraphBuilder* builder);

// x [T, E], already normed -> W_down (act(W_gate x) * (W_up x)) [T, E].
ValueId GatedFfnBlock(const ModelDescription& model, int32_t layer, Activation activation,
                      ValueId x, GraphBuilder* builder);

// The pre-norm decoder that llama, qwen2 and qwen3 are: x += attention(norm x); x += ffn(norm x).
ValueId PreNormDecoder(const ModelDescription& model, const StepInputs& inputs,
                       RopeStyle rope_style, GraphBuilder* builder);

// Weights that these architectures share, all required; biases and head norms are the caller's.
Status CollectDecoderWeights(const Hyperparameters& hp, WeightCollector* collector,
                             ModelWeights* weights);

// "blk.N." + name
std::string LayerTensor(int32_t layer, std::string_view name);

}  // namespace minfer
