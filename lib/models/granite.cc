// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Granite 3 (Granite Team 2024): LLaMA's graph with four scales,
//   x = embedding_scale * embedding
//   h = x + residual_scale * W_o attention(...), scores multiplied by attention.scale
//   y = h + residual_scale * FFN(...)
//   logits = W_output rms(y) / logit_scale
// A scale that is absent or 0 leaves its formula as LLaMA has it; logit_scale is required. The
// files use rope.scaling.finetuned as a switch: false means that no layer rotates.
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/key_reader.h"

namespace minfer {
namespace {

constexpr std::string_view kHonoured[] = {"embedding_scale", "residual_scale", "attention.scale",
                                          "logit_scale", "rope.scaling.finetuned"};
// It repeats the number of tokens.
constexpr std::string_view kHarmless[] = {"vocab_size"};

StatusOr<float> ReadScale(const KeyReader& keys, std::string_view suffix, float neutral) {
  MF_ASSIGN_OR_RETURN(float value, keys.Number(suffix, 0.0f));
  return value == 0.0f ? neutral : value;
}

class Granite final : public Architecture {
 public:
  std::string_view name() const override { return "granite"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    const KeyReader keys(file.metadata(), hp->architecture);
    MF_ASSIGN_OR_RETURN(hp->embedding_scale, ReadScale(keys, "embedding_scale", 1.0f));
    MF_ASSIGN_OR_RETURN(hp->residual_scale, ReadScale(keys, "residual_scale", 1.0f));
    MF_ASSIGN_OR_RETURN(hp->attention_scale, ReadScale(keys, "attention.scale", 0.0f));
    if (!keys.Has("logit_scale")) {
      return ImpossibleKey(keys.Key("logit_scale"), "the key is required and missing");
    }
    MF_ASSIGN_OR_RETURN(hp->logit_divisor, keys.Positive("logit_scale", 1.0f));
    const std::string finetuned = keys.Key("rope.scaling.finetuned");
    if (file.metadata().Has(finetuned)) {
      MF_ASSIGN_OR_RETURN(bool rotates, file.metadata().GetBool(finetuned));
      hp->rotates = rotates;
    }
    return OkStatus();
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
    return CollectOptionalBiases(hp, collector, weights);
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    DecoderSettings settings;
    settings.rope_style = RopeStyle::kNorm;
    settings.no_rope_period = model.hp.rotates ? 0 : 1;
    settings.embedding_scale = model.hp.embedding_scale;
    settings.residual_scale = model.hp.residual_scale;
    settings.attention_scale = model.hp.attention_scale;
    settings.logit_scale = 1.0f / model.hp.logit_divisor;
    return PreNormDecoder(model, inputs, settings, builder);
  }
};

}  // namespace

const Architecture& GraniteArchitecture() {
  static constinit const Granite architecture;
  return architecture;
}

}  // namespace minfer
