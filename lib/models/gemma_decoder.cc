// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/gemma_decoder.h"

#include <cmath>

#include "base/str_cat.h"
#include "models/blocks.h"

namespace minfer {
namespace {

// A finite number that is not negative.
StatusOr<float> ReadScale(const ModelFiles& file, const Hyperparameters& hp,
                          std::string_view suffix, float absent) {
  const std::string key = StrCat(hp.architecture, ".", suffix);
  MF_ASSIGN_OR_RETURN(const float value, file.metadata().GetF32Or(key, absent));
  if (std::isfinite(value) && value >= 0.0f) return value;
  return Status(StatusCode::kInvalidArgument, Subsystem::kModel, StrCat("value ", value))
      .WithName(key);
}

}  // namespace

Status ReadGemmaScales(const ModelFiles& file, int32_t wide_layers, float attn_softcap_absent,
                       float final_softcap_absent, Hyperparameters* hp) {
  MF_ASSIGN_OR_RETURN(hp->attention_scale, ReadScale(file, *hp, "attention.scale", 0.0f));
  if (hp->attention_scale == 0.0f) {
    const int32_t divisor = hp->n_layers == wide_layers ? hp->n_embd / hp->n_heads : hp->head_dim_k;
    hp->attention_scale = 1.0f / std::sqrt(static_cast<float>(divisor));
  }
  MF_ASSIGN_OR_RETURN(hp->attention_softcap,
                      ReadScale(file, *hp, "attn_logit_softcapping", attn_softcap_absent));
  MF_ASSIGN_OR_RETURN(hp->final_softcap,
                      ReadScale(file, *hp, "final_logit_softcapping", final_softcap_absent));
  return OkStatus();
}

Status CollectGemmaWeights(const Hyperparameters& hp, WeightCollector* collector,
                           ModelWeights* weights) {
  MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
  for (int32_t i = 0; i < hp.n_layers; ++i) {
    LayerWeights& w = weights->layers[static_cast<size_t>(i)];
    MF_ASSIGN_OR_RETURN(w.attn_post_norm,
                        collector->Vector(LayerTensor(i, "post_attention_norm.weight"), hp.n_embd));
    MF_ASSIGN_OR_RETURN(w.ffn_post_norm,
                        collector->Vector(LayerTensor(i, "post_ffw_norm.weight"), hp.n_embd));
  }
  return OkStatus();
}

ValueId GemmaDecoder(const ModelDescription& model, const StepInputs& inputs,
                     GraphBuilder* builder) {
  const Hyperparameters& hp = model.hp;
  builder->SetPrefix("");
  ValueId x = builder->GetRows("embed", model.weights.token_embd, inputs.token_ids);  // [T, E]
  x = builder->Scale("embed_scaled", x, std::sqrt(static_cast<float>(hp.n_embd)));
  AttentionSettings full;
  full.rope_style = RopeStyle::kNeox;
  full.rope_table = builder->RopeTable("rope_table", inputs.positions, 0, hp.rope.rope_dim);
  full.scale = hp.attention_scale;
  full.softcap = hp.attention_softcap;
  AttentionSettings windowed = full;
  if (hp.window_rope.has_value()) {
    windowed.rope_table =
        builder->RopeTable("window_rope_table", inputs.positions, 1, hp.rope.rope_dim);
  }

  for (int32_t layer = 0; layer < hp.n_layers; ++layer) {
    const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
    builder->SetPrefix(StrCat("blk.", layer));
    ValueId normed = builder->RmsNorm("attn_norm", x, w.attn_norm, hp.rms_eps);
    const AttentionSettings& settings = hp.window(layer) > 0 ? windowed : full;
    ValueId attended = AttentionBlock(model, inputs, layer, settings, normed, builder);
    if (layer == hp.n_layers - 1) {
      // Nothing after the last attention mixes rows: go on with those whose logits are wanted.
      attended = builder->SelectRows("select_attended", attended, inputs.output_rows);
      x = builder->SelectRows("select_residual", x, inputs.output_rows);
    }
    attended = builder->RmsNorm("attn_post_norm", attended, w.attn_post_norm, hp.rms_eps);
    x = builder->Add("attn_residual", x, attended);
    normed = builder->RmsNorm("ffn_norm", x, w.ffn_norm, hp.rms_eps);
    ValueId mixed = GatedFfnBlock(model, layer, Activation::kGeluTanh, normed, builder);
    mixed = builder->RmsNorm("ffn_post_norm", mixed, w.ffn_post_norm, hp.rms_eps);
    x = builder->Add("ffn_residual", x, mixed);
  }
  builder->SetPrefix("");
  ValueId normed = builder->RmsNorm("output_norm", x, model.weights.output_norm, hp.rms_eps);
  ValueId logits = builder->MatMul("logits", normed, model.weights.output);  // [O, vocabulary]
  if (hp.final_softcap > 0.0f) logits = builder->Softcap("softcap", logits, hp.final_softcap);
  return logits;
}

}  // namespace minfer
