// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Gemma 3, text (Gemma Team 2025): the decoder of gemma_decoder.h with a norm of each head,
//   q = rope(rms(W_q n) q_norm), k = rope(rms(W_k n) k_norm)
// over the pairs (i, i + rope_dim / 2). Of six layers five see the last `sliding_window` tokens and
// rotate with their own base and no scaling; each sixth sees all, with rope.freq_base and scaling.
// A file without a window has layers of the second kind only.
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/gemma_decoder.h"

namespace minfer {
namespace {

constexpr uint32_t kPeriod = 6;
constexpr float kWindowRopeBase = 10000.0f;
// Gemma 3 27B.
constexpr int32_t kWideLayers = 62;

constexpr std::string_view kHonoured[] = {
    "attention.sliding_window", "attention.sliding_window_pattern", "attention.scale",
    "rope.freq_base_swa",       "attn_logit_softcapping",           "final_logit_softcapping",
};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Gemma3 final : public Architecture {
 public:
  std::string_view name() const override { return "gemma3"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(ReadGemmaScales(file, kWideLayers, 0.0f, 0.0f, hp));
    MF_RETURN_IF_ERROR(ReadSlidingWindow(file, hp));
    if (hp->sliding_window == 0) return OkStatus();
    MF_RETURN_IF_ERROR(ReadWindowPattern(file, kPeriod, hp));
    return ReadWindowRope(file, kWindowRopeBase, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectGemmaWeights(hp, collector, weights));
    return CollectHeadNorms(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return GemmaDecoder(model, inputs, builder);
  }
};

}  // namespace

const Architecture& Gemma3Architecture() {
  static constinit const Gemma3 architecture;
  return architecture;
}

}  // namespace minfer
