// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Qwen2 and Qwen2.5 (Yang et al. 2024): LLaMA's graph with
//   q = rope(W_q n + b_q), k = rope(W_k n + b_k), v = W_v n + b_v
// and RoPE over the pairs (i, i + rope_dim / 2). No other bias.
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Qwen2 final : public Architecture {
 public:
  std::string_view name() const override { return "qwen2"; }

  KeyRules keys() const override { return {.honoured = {}, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles&, Hyperparameters*) const override {
    return OkStatus();
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
    for (int32_t i = 0; i < hp.n_layers; ++i) {
      LayerWeights& w = weights->layers[static_cast<size_t>(i)];
      MF_ASSIGN_OR_RETURN(w.q_bias, collector->Vector(LayerTensor(i, "attn_q.bias"), hp.q_width()));
      MF_ASSIGN_OR_RETURN(w.k_bias, collector->Vector(LayerTensor(i, "attn_k.bias"), hp.k_width()));
      MF_ASSIGN_OR_RETURN(w.v_bias, collector->Vector(LayerTensor(i, "attn_v.bias"), hp.v_width()));
    }
    return OkStatus();
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return PreNormDecoder(model, inputs, RopeStyle::kNeox, builder);
  }
};

}  // namespace

const Architecture& Qwen2Architecture() {
  static constinit const Qwen2 architecture;
  return architecture;
}

}  // namespace minfer
