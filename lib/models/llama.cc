// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// LLaMA (Touvron et al. 2023) and what shares its graph: Llama 2 and 3, Mistral, SmolLM2,
// TinyLlama.
//   h = x + W_o attention(rope(W_q n), rope(W_k n), W_v n),  n = rms(x) attn_norm
//   y = h + W_down (silu(W_gate m) * (W_up m)),              m = rms(h) ffn_norm
// RoPE turns neighbouring pairs: the converter permutes the rows of W_q and W_k so. Llama 3.1 and
// later divide each frequency by rope_freqs.weight.
//
// Mixtral (Jiang et al. 2024) is the same with experts in place of the FFN:
//   p = softmax(W_r m), the U largest chosen and divided by their sum
//   y = h + sum over the chosen of p_i W_down_i (silu(W_gate_i m) * (W_up_i m))
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/experts.h"

namespace minfer {
namespace {

constexpr std::string_view kHonoured[] = {
    "attention.sliding_window",   "expert_count",         "expert_used_count",
    "expert_feed_forward_length", "expert_weights_scale", "expert_weights_norm",
    "expert_gating_func",
};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Llama final : public Architecture {
 public:
  std::string_view name() const override { return "llama"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  // Mistral 7B v0.1: each token sees the last 4,096, its own included.
  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(ReadSlidingWindow(file, hp));
    return ReadExpertKeys(file, {.required = false, .n_ff = hp->n_ff, .normalise = true}, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
    return CollectOptionalBiases(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return PreNormDecoder(model, inputs, RopeStyle::kNorm, builder);
  }
};

}  // namespace

const Architecture& LlamaArchitecture() {
  static constinit const Llama architecture;
  return architecture;
}

}  // namespace minfer
