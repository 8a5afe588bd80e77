// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Qwen3 with experts (Yang et al. 2025): Qwen3's attention, and in every layer in place of the FFN
//   p = softmax(W_r m), the U largest chosen and divided by their sum
//   y = h + sum over the chosen of p_i W_down_i (silu(W_gate_i m) * (W_up_i m)),  m = rms(h)
//   ffn_norm
// No bias, no shared expert.
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/experts.h"

namespace minfer {
namespace {

// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Qwen3Moe final : public Architecture {
 public:
  std::string_view name() const override { return "qwen3moe"; }

  KeyRules keys() const override { return {.honoured = ExpertKeys(), .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    return ReadExpertKeys(file, {.required = true, .n_ff = hp->n_ff, .normalise = true}, hp);
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

const Architecture& Qwen3MoeArchitecture() {
  static constinit const Qwen3Moe architecture;
  return architecture;
}

}  // namespace minfer
