// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Qwen3, dense (Yang et al. 2025): LLaMA's graph with a norm of each head before RoPE,
//   q = rope(rms(W_q n) q_norm), k = rope(rms(W_k n) k_norm)
// and RoPE over the pairs (i, i + rope_dim / 2). No bias; the head size is stated, not n_embd / H.
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Qwen3 final : public Architecture {
 public:
  std::string_view name() const override { return "qwen3"; }

  KeyRules keys() const override { return {.honoured = {}, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles&, Hyperparameters*) const override {
    return OkStatus();
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
    return CollectHeadNorms(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return PreNormDecoder(model, inputs, RopeStyle::kNeox, builder);
  }
};

}  // namespace

const Architecture& Qwen3Architecture() {
  static constinit const Qwen3 architecture;
  return architecture;
}

}  // namespace minfer
