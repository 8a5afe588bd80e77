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
  ValueId rope_table = kNoId;    // kNoId: nothing rotates
  float scale = 0.0f;            // scores are multiplied by it
  float softcap = 0.0f;          // then become softcap * tanh(score / softcap); 0: stay
  bool norm_whole_rows = false;  // q_norm and k_norm go over all heads together
};

// x [T, E], already normed -> W_o of the attention over the layer's cache [T, E].
ValueId AttentionBlock(const ModelDescription& model, const StepInputs& inputs, int32_t layer,
                       const AttentionSettings& settings, ValueId x, GraphBuilder* builder);

// x [T, E], already normed -> W_down (act(W_gate x) * (W_up x)) [T, E].
ValueId GatedFfnBlock(const ModelDescription& model, int32_t layer, Activation activation,
                      ValueId x, GraphBuilder* builder);

// x [T, E], already normed -> the layer's FFN with SiLU, dense or of experts [T, E].
ValueId FfnBlock(const ModelDescription& model, int32_t layer, ValueId x, GraphBuilder* builder);

// The pre-norm decoder that llama, qwen2 and qwen3 are, with or without experts:
// x += attention(norm x); x += ffn(norm x).
ValueId PreNormDecoder(const ModelDescription& model, const StepInputs& inputs,
                       RopeStyle rope_style, GraphBuilder* builder);

// What differs between pre-norm decoders.
struct DecoderSettings {
  RopeStyle rope_style = RopeStyle::kNorm;
  int32_t no_rope_period = 0;    // the last layer of each period does not rotate; 0: all do
  float embedding_scale = 1.0f;  // of the embeddings
  float residual_scale = 1.0f;   // of what attention and FFN add
  float attention_scale = 0.0f;  // 0: 1 / sqrt(head_dim_k)
  float logit_scale = 1.0f;      // of the logits
};
ValueId PreNormDecoder(const ModelDescription& model, const StepInputs& inputs,
                       const DecoderSettings& settings, GraphBuilder* builder);

// token_embd, output_norm, and output where the file has it.
Status CollectEmbeddings(const Hyperparameters& hp, WeightCollector* collector,
                         ModelWeights* weights);

// Biases of LLaMA's matrices, each where the file has it.
Status CollectOptionalBiases(const Hyperparameters& hp, WeightCollector* collector,
                             ModelWeights* weights);

// The four matrices of a layer's attention, and the three of a gated feed-forward block.
Status CollectAttentionMatrices(const Hyperparameters& hp, int32_t layer,
                                WeightCollector* collector, LayerWeights* w);
Status CollectGatedFfn(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                       LayerWeights* w);

// A norm of each head of queries and of keys, required in every layer.
Status CollectHeadNorms(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights);

// Weights that these architectures share, all required, experts in place of the FFN where hp has
// some; biases and head norms are the caller's. ffn_norm: the name of the second norm.
Status CollectDecoderWeights(const Hyperparameters& hp, WeightCollector* collector,
                             ModelWeights* weights, std::string_view ffn_norm = "ffn_norm.weight");

// "blk.N." + name
std::string LayerTensor(int32_t layer, std::string_view name);

}  // namespace minfer
