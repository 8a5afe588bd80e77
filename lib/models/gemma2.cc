// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Gemma 2 (Gemma Team 2024): the decoder of gemma_decoder.h with soft caps,
//   score = c tanh(q k scale / c) with c = attn_logit_softcapping, and likewise the logits,
// and RoPE over the pairs (i, i + rope_dim / 2). Even layers see the last `sliding_window` tokens,
// odd ones all.
#include "models/architectures.h"
#include "models/gemma_decoder.h"

namespace minfer {
namespace {

constexpr uint32_t kPeriod = 2;
// What the published models have; the first files did not say so.
constexpr int32_t kWindow = 4096;
constexpr float kAttentionSoftcap = 50.0f;
constexpr float kFinalSoftcap = 30.0f;
// Gemma 2 27B.
constexpr int32_t kWideLayers = 46;

constexpr std::string_view kHonoured[] = {
    "attention.sliding_window", "attention.sliding_window_pattern", "attention.scale",
    "attn_logit_softcapping",   "final_logit_softcapping",
};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Gemma2 final : public Architecture {
 public:
  std::string_view name() const override { return "gemma2"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(ReadGemmaScales(file, kWideLayers, kAttentionSoftcap, kFinalSoftcap, hp));
    MF_RETURN_IF_ERROR(ReadSlidingWindow(file, hp));
    if (!file.metadata().Has("gemma2.attention.sliding_window")) hp->sliding_window = kWindow;
    return ReadWindowPattern(file, kPeriod, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    return CollectGemmaWeights(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return GemmaDecoder(model, inputs, builder);
  }
};

}  // namespace

const Architecture& Gemma2Architecture() {
  static constinit const Gemma2 architecture;
  return architecture;
}

}  // namespace minfer
