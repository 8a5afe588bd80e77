// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// StarCoder2 (Lozhkov et al. 2024): layer norms that subtract the mean and add a bias, a bias after
// every matrix, and a plain feed-forward block,
//   h = x + W_o attention(rope(W_q n + b_q), rope(W_k n + b_k), W_v n + b_v) + b_o
//   y = h + W_down gelu(W_up m + b_up) + b_down,  n, m = layernorm(x), layernorm(h)
// RoPE over the pairs (i, i + rope_dim / 2), no learned positions; the tanh form of GELU; the
// output is tied unless the file has one. Where the file states a sliding window, each token sees
// that many, its own included.
#include <cmath>

#include "base/str_cat.h"
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

constexpr std::string_view kHonoured[] = {"attention.sliding_window"};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

Status CollectLayer(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                    LayerWeights* w) {
  const int64_t e = hp.n_embd;
  auto name = [layer](std::string_view role) { return LayerTensor(layer, role); };
  MF_ASSIGN_OR_RETURN(w->attn_norm, collector->Vector(name("attn_norm.weight"), e));
  MF_ASSIGN_OR_RETURN(w->attn_norm_bias, collector->Vector(name("attn_norm.bias"), e));
  MF_RETURN_IF_ERROR(CollectAttentionMatrices(hp, layer, collector, w));
  MF_ASSIGN_OR_RETURN(w->q_bias, collector->Vector(name("attn_q.bias"), hp.q_width()));
  MF_ASSIGN_OR_RETURN(w->k_bias, collector->Vector(name("attn_k.bias"), hp.k_width()));
  MF_ASSIGN_OR_RETURN(w->v_bias, collector->Vector(name("attn_v.bias"), hp.v_width()));
  MF_ASSIGN_OR_RETURN(w->o_bias, collector->Vector(name("attn_output.bias"), e));
  MF_ASSIGN_OR_RETURN(w->ffn_norm, collector->Vector(name("ffn_norm.weight"), e));
  MF_ASSIGN_OR_RETURN(w->ffn_norm_bias, collector->Vector(name("ffn_norm.bias"), e));
  MF_ASSIGN_OR_RETURN(w->up, collector->Matrix(name("ffn_up.weight"), e, hp.n_ff));
  MF_ASSIGN_OR_RETURN(w->up_bias, collector->Vector(name("ffn_up.bias"), hp.n_ff));
  MF_ASSIGN_OR_RETURN(w->down, collector->Matrix(name("ffn_down.weight"), hp.n_ff, e));
  MF_ASSIGN_OR_RETURN(w->down_bias, collector->Vector(name("ffn_down.bias"), e));
  return OkStatus();
}

class StarCoder2 final : public Architecture {
 public:
  std::string_view name() const override { return "starcoder2"; }

  KeyRules keys() const override {
    return {.honoured = kHonoured, .harmless = kHarmless, .layer_norm = true};
  }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    return ReadSlidingWindow(file, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectEmbeddings(hp, collector, weights));
    MF_ASSIGN_OR_RETURN(weights->output_norm_bias,
                        collector->Vector("output_norm.bias", hp.n_embd));
    for (int32_t i = 0; i < hp.n_layers; ++i) {
      LayerWeights w;
      MF_RETURN_IF_ERROR(CollectLayer(hp, i, collector, &w));
      weights->layers.push_back(w);
    }
    return OkStatus();
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    const Hyperparameters& hp = model.hp;
    builder->SetPrefix("");
    ValueId x = builder->GetRows("embed", model.weights.token_embd, inputs.token_ids);  // [T, E]
    AttentionSettings settings;
    settings.rope_style = RopeStyle::kNeox;
    settings.rope_table = builder->RopeTable("rope_table", inputs.positions, 0, hp.rope.rope_dim);
    settings.scale = 1.0f / std::sqrt(static_cast<float>(hp.head_dim_k));

    for (int32_t layer = 0; layer < hp.n_layers; ++layer) {
      const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
      builder->SetPrefix(StrCat("blk.", layer));
      ValueId normed =
          builder->LayerNorm("attn_norm", x, w.attn_norm, w.attn_norm_bias, hp.layer_norm_eps);
      ValueId attended = AttentionBlock(model, inputs, layer, settings, normed, builder);
      if (layer == hp.n_layers - 1) {
        // Nothing after the last attention mixes rows: go on with those whose logits are wanted.
        attended = builder->SelectRows("select_attended", attended, inputs.output_rows);
        x = builder->SelectRows("select_residual", x, inputs.output_rows);
      }
      x = builder->Add("attn_residual", x, attended);
      normed = builder->LayerNorm("ffn_norm", x, w.ffn_norm, w.ffn_norm_bias, hp.layer_norm_eps);
      ValueId inner = builder->AddBias("up_bias", builder->MatMul("up", normed, w.up), w.up_bias);
      inner = builder->Act("gelu", inner, Activation::kGeluTanh);  // [T, F]
      const ValueId mixed =
          builder->AddBias("down_bias", builder->MatMul("down", inner, w.down), w.down_bias);
      x = builder->Add("ffn_residual", x, mixed);
    }
    builder->SetPrefix("");
    const ValueId normed = builder->LayerNorm("output_norm", x, model.weights.output_norm,
                                              model.weights.output_norm_bias, hp.layer_norm_eps);
    return builder->MatMul("logits", normed, model.weights.output);  // [O, vocabulary]
  }
};

}  // namespace

const Architecture& StarCoder2Architecture() {
  static constinit const StarCoder2 architecture;
  return architecture;
}

}  // namespace minfer
