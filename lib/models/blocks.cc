// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/blocks.h"

#include <cmath>

#include "base/str_cat.h"
#include "models/experts.h"

namespace minfer {

std::string LayerTensor(int32_t layer, std::string_view name) {
  return StrCat("blk.", layer, ".", name);
}

ValueId AttentionBlock(const ModelDescription& model, const StepInputs& inputs, int32_t layer,
                       const AttentionSettings& settings, ValueId x, GraphBuilder* builder) {
  const Hyperparameters& hp = model.hp;
  const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
  const size_t group = static_cast<size_t>(model.layer_group[static_cast<size_t>(layer)]);

  ValueId q = builder->AddBias("q_bias", builder->MatMul("q", x, w.q), w.q_bias);  // [T, H * D]
  ValueId k = builder->AddBias("k_bias", builder->MatMul("k", x, w.k), w.k_bias);  // [T, K * D]
  ValueId v = builder->AddBias("v_bias", builder->MatMul("v", x, w.v), w.v_bias);  // [T, K * Dv]
  if (w.q_norm != kNoId) {
    if (settings.norm_whole_rows) {
      q = builder->RmsNorm("q_norm", q, w.q_norm, hp.rms_eps);
      k = builder->RmsNorm("k_norm", k, w.k_norm, hp.rms_eps);
    } else {
      q = builder->HeadRmsNorm("q_norm", q, w.q_norm, hp.rms_eps, hp.n_heads, hp.head_dim_k);
      k = builder->HeadRmsNorm("k_norm", k, w.k_norm, hp.rms_eps, hp.n_kv_heads, hp.head_dim_k);
    }
  }

  OpAttributes attributes;
  attributes.layer = layer;
  attributes.n_heads = hp.n_heads;
  attributes.n_kv_heads = hp.n_kv_heads;
  attributes.head_dim = hp.head_dim_k;
  attributes.head_dim_v = hp.head_dim_v;
  attributes.rope_dim = hp.rope.rope_dim;
  attributes.rope_style = settings.rope_style;
  attributes.scale = settings.scale;
  attributes.softcap = settings.softcap;
  attributes.window = model.group_window[group];
  OpAttributes k_attributes = attributes;
  k_attributes.n_heads = hp.n_kv_heads;

  if (settings.rope_table != kNoId) {
    q = builder->Rope("q_rope", q, settings.rope_table, attributes);
    k = builder->Rope("k_rope", k, settings.rope_table, k_attributes);
  }
  ValueId store = builder->KvStore("kv_store", k, v, inputs.cells[group], k_attributes);
  ValueId mixed = builder->Attention("attention", q, store, inputs.page_tables[group],
                                     inputs.row_sequence, inputs.row_length, attributes, w.sinks);
  return builder->AddBias("o_bias", builder->MatMul("o", mixed, w.o), w.o_bias);
}

ValueId GatedFfnBlock(const ModelDescription& model, int32_t layer, Activation activation,
                      ValueId x, GraphBuilder* builder) {
  const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
  ValueId gate = builder->AddBias("gate_bias", builder->MatMul("gate", x, w.gate), w.gate_bias);
  ValueId up = builder->AddBias("up_bias", builder->MatMul("up", x, w.up), w.up_bias);
  ValueId inner = builder->GatedAct("gated", gate, up, activation);  // [T, F]
  return builder->AddBias("down_bias", builder->MatMul("down", inner, w.down), w.down_bias);
}

// The layer's dense FFN, or its experts and the shared one behind its gate.
ValueId FfnBlock(const ModelDescription& model, int32_t layer, ValueId x, GraphBuilder* builder) {
  const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
  if (w.router == kNoId) return GatedFfnBlock(model, layer, Activation::kSilu, x, builder);
  const ValueId routed = ExpertFfnBlock(model, layer, ExpertSettings(), x, builder);
  if (w.shared_gate == kNoId) return routed;
  const ValueId shared = GatedFfnBlock(model, layer, Activation::kSilu, x, builder);
  const ValueId gate = builder->MatMul("shared_gate", x, w.shared_gate);  // [T, 1]
  return builder->Add("experts", routed, builder->GateRows("shared", shared, gate));
}

ValueId PreNormDecoder(const ModelDescription& model, const StepInputs& inputs,
                       RopeStyle rope_style, GraphBuilder* builder) {
  DecoderSettings settings;
  settings.rope_style = rope_style;
  return PreNormDecoder(model, inputs, settings, builder);
}

ValueId PreNormDecoder(const ModelDescription& model, const StepInputs& inputs,
                       const DecoderSettings& decoder, GraphBuilder* builder) {
  const Hyperparameters& hp = model.hp;
  // A scale of 1 is no node.
  auto scaled = [builder](std::string_view name, ValueId x, float factor) {
    return factor == 1.0f ? x : builder->Scale(name, x, factor);
  };
  builder->SetPrefix("");
  ValueId x = builder->GetRows("embed", model.weights.token_embd, inputs.token_ids);  // [T, E]
  x = scaled("embed_scaled", x, decoder.embedding_scale);
  AttentionSettings rotated;
  rotated.rope_style = decoder.rope_style;
  rotated.scale = decoder.attention_scale != 0.0f
                      ? decoder.attention_scale
                      : 1.0f / std::sqrt(static_cast<float>(hp.head_dim_k));
  const AttentionSettings unrotated = rotated;
  if (decoder.no_rope_period != 1) {
    rotated.rope_table = builder->RopeTable("rope_table", inputs.positions, 0, hp.rope.rope_dim);
  }

  for (int32_t layer = 0; layer < hp.n_layers; ++layer) {
    const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
    builder->SetPrefix(StrCat("blk.", layer));
    const bool rotates = decoder.no_rope_period == 0 || (layer + 1) % decoder.no_rope_period != 0;
    ValueId normed = builder->RmsNorm("attn_norm", x, w.attn_norm, hp.rms_eps);
    ValueId attended =
        AttentionBlock(model, inputs, layer, rotates ? rotated : unrotated, normed, builder);
    if (layer == hp.n_layers - 1) {
      // Nothing after the last attention mixes rows: go on with those whose logits are wanted.
      attended = builder->SelectRows("select_attended", attended, inputs.output_rows);
      x = builder->SelectRows("select_residual", x, inputs.output_rows);
    }
    x = builder->Add("attn_residual", x, scaled("attn_scaled", attended, decoder.residual_scale));
    normed = builder->RmsNorm("ffn_norm", x, w.ffn_norm, hp.rms_eps);
    const ValueId mixed = FfnBlock(model, layer, normed, builder);
    x = builder->Add("ffn_residual", x, scaled("ffn_scaled", mixed, decoder.residual_scale));
  }
  builder->SetPrefix("");
  ValueId normed = builder->RmsNorm("output_norm", x, model.weights.output_norm, hp.rms_eps);
  const ValueId logits = builder->MatMul("logits", normed, model.weights.output);
  return scaled("logits_scaled", logits, decoder.logit_scale);  // [O, vocabulary]
}

Status CollectEmbeddings(const Hyperparameters& hp, WeightCollector* collector,
                         ModelWeights* weights) {
  const int64_t e = hp.n_embd;
  MF_ASSIGN_OR_RETURN(weights->token_embd, collector->Matrix("token_embd.weight", e, hp.n_vocab));
  MF_ASSIGN_OR_RETURN(weights->output_norm, collector->Vector("output_norm.weight", e));
  weights->output = weights->token_embd;
  if (collector->Has("output.weight")) {
    MF_ASSIGN_OR_RETURN(weights->output, collector->Matrix("output.weight", e, hp.n_vocab));
  }
  return OkStatus();
}

Status CollectOptionalBiases(const Hyperparameters& hp, WeightCollector* collector,
                             ModelWeights* weights) {
  for (int32_t i = 0; i < hp.n_layers; ++i) {
    LayerWeights& w = weights->layers[static_cast<size_t>(i)];
    auto optional = [&](std::string_view role, int64_t n) {
      return collector->OptionalVector(LayerTensor(i, role), n);
    };
    MF_ASSIGN_OR_RETURN(w.q_bias, optional("attn_q.bias", hp.q_width()));
    MF_ASSIGN_OR_RETURN(w.k_bias, optional("attn_k.bias", hp.k_width()));
    MF_ASSIGN_OR_RETURN(w.v_bias, optional("attn_v.bias", hp.v_width()));
    MF_ASSIGN_OR_RETURN(w.o_bias, optional("attn_output.bias", hp.n_embd));
    if (hp.n_experts > 0) continue;
    MF_ASSIGN_OR_RETURN(w.gate_bias, optional("ffn_gate.bias", hp.n_ff));
    MF_ASSIGN_OR_RETURN(w.up_bias, optional("ffn_up.bias", hp.n_ff));
    MF_ASSIGN_OR_RETURN(w.down_bias, optional("ffn_down.bias", hp.n_embd));
  }
  return OkStatus();
}

Status CollectAttentionMatrices(const Hyperparameters& hp, int32_t layer,
                                WeightCollector* collector, LayerWeights* w) {
  const int64_t e = hp.n_embd;
  const int64_t attended = int64_t{hp.n_heads} * hp.head_dim_v;
  auto matrix = [&](std::string_view role, int64_t ne0, int64_t ne1) {
    return collector->Matrix(LayerTensor(layer, role), ne0, ne1);
  };
  MF_ASSIGN_OR_RETURN(w->q, matrix("attn_q.weight", e, hp.q_width()));
  MF_ASSIGN_OR_RETURN(w->k, matrix("attn_k.weight", e, hp.k_width()));
  MF_ASSIGN_OR_RETURN(w->v, matrix("attn_v.weight", e, hp.v_width()));
  MF_ASSIGN_OR_RETURN(w->o, matrix("attn_output.weight", attended, e));
  return OkStatus();
}

Status CollectGatedFfn(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                       LayerWeights* w) {
  const int64_t e = hp.n_embd;
  auto matrix = [&](std::string_view role, int64_t ne0, int64_t ne1) {
    return collector->Matrix(LayerTensor(layer, role), ne0, ne1);
  };
  MF_ASSIGN_OR_RETURN(w->gate, matrix("ffn_gate.weight", e, hp.n_ff));
  MF_ASSIGN_OR_RETURN(w->up, matrix("ffn_up.weight", e, hp.n_ff));
  MF_ASSIGN_OR_RETURN(w->down, matrix("ffn_down.weight", hp.n_ff, e));
  return OkStatus();
}

Status CollectHeadNorms(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) {
  const int64_t d = hp.head_dim_k;
  for (int32_t i = 0; i < hp.n_layers; ++i) {
    LayerWeights& w = weights->layers[static_cast<size_t>(i)];
    MF_ASSIGN_OR_RETURN(w.q_norm, collector->Vector(LayerTensor(i, "attn_q_norm.weight"), d));
    MF_ASSIGN_OR_RETURN(w.k_norm, collector->Vector(LayerTensor(i, "attn_k_norm.weight"), d));
  }
  return OkStatus();
}

Status CollectDecoderWeights(const Hyperparameters& hp, WeightCollector* collector,
                             ModelWeights* weights, std::string_view ffn_norm) {
  const int64_t e = hp.n_embd;
  MF_RETURN_IF_ERROR(CollectEmbeddings(hp, collector, weights));
  for (int32_t i = 0; i < hp.n_layers; ++i) {
    LayerWeights w;
    auto name = [i](std::string_view role) { return LayerTensor(i, role); };
    MF_ASSIGN_OR_RETURN(w.attn_norm, collector->Vector(name("attn_norm.weight"), e));
    MF_RETURN_IF_ERROR(CollectAttentionMatrices(hp, i, collector, &w));
    MF_ASSIGN_OR_RETURN(w.ffn_norm, collector->Vector(name(ffn_norm), e));
    if (hp.n_experts > 0) {
      MF_RETURN_IF_ERROR(CollectExpertWeights(hp, i, collector, &w));
    } else {
      MF_RETURN_IF_ERROR(CollectGatedFfn(hp, i, collector, &w));
    }
    weights->layers.push_back(w);
  }
  return OkStatus();
}

}  // namespace minfer
