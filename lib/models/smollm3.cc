// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// SmolLM3 (Bakouch et al. 2025): LLaMA's graph, but every fourth layer has no position embedding
// (NoPE): its queries and keys are not rotated. No key of the file says which; the model's
// configuration is always this one. RoPE turns neighbouring pairs, as the converter of LLaMA
// permutes them.
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

constexpr int32_t kNoRopePeriod = 4;  // layers 3, 7, 11 ... from 0
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class SmolLm3 final : public Architecture {
 public:
  std::string_view name() const override { return "smollm3"; }

  KeyRules keys() const override { return {.honoured = {}, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles&, Hyperparameters*) const override {
    return OkStatus();
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    return CollectDecoderWeights(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    DecoderSettings settings;
    settings.rope_style = RopeStyle::kNorm;
    settings.no_rope_period = kNoRopePeriod;
    return PreNormDecoder(model, inputs, settings, builder);
  }
};

}  // namespace

const Architecture& SmolLm3Architecture() {
  static constinit const SmolLm3 architecture;
  return architecture;
}

}  // namespace minfer
