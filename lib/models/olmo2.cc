// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// OLMo 2 (OLMo Team 2024): the norms stand after the blocks instead of before them, and queries and
// keys are normed over all heads together,
//   q = rope(rms(W_q x) q_norm), k = rope(rms(W_k x) k_norm), v = W_v x
//   h = x + rms(W_o attention(q, k, v)) attn_post_norm
//   y = h + rms(W_down (silu(W_gate h) * (W_up h))) ffn_post_norm
// RoPE over the pairs (i, i + rope_dim / 2); no bias.
//
// OLMo 3 (2025) is the same with windows: in three layers of four each token sees the last
// sliding_window, its own included, and RoPE is not scaled there.
#include <cmath>

#include "base/str_cat.h"
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

constexpr std::string_view kHonoured[] = {"attention.sliding_window",
                                          "attention.sliding_window_pattern", "rope.freq_base_swa"};
constexpr uint32_t kWindowPeriod = 4;  // of OLMo 3: the last layer of each sees all
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

Status CollectLayer(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                    LayerWeights* w) {
  const int64_t e = hp.n_embd;
  auto name = [layer](std::string_view role) { return LayerTensor(layer, role); };
  MF_RETURN_IF_ERROR(CollectAttentionMatrices(hp, layer, collector, w));
  MF_ASSIGN_OR_RETURN(w->q_norm, collector->Vector(name("attn_q_norm.weight"), hp.q_width()));
  MF_ASSIGN_OR_RETURN(w->k_norm, collector->Vector(name("attn_k_norm.weight"), hp.k_width()));
  MF_ASSIGN_OR_RETURN(w->attn_post_norm, collector->Vector(name("post_attention_norm.weight"), e));
  MF_RETURN_IF_ERROR(CollectGatedFfn(hp, layer, collector, w));
  MF_ASSIGN_OR_RETURN(w->ffn_post_norm, collector->Vector(name("post_ffw_norm.weight"), e));
  return OkStatus();
}

class Olmo2 final : public Architecture {
 public:
  std::string_view name() const override { return "olmo2"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(ReadSlidingWindow(file, hp));
    if (hp->sliding_window == 0) return OkStatus();
    MF_RETURN_IF_ERROR(ReadWindowPattern(file, kWindowPeriod, hp));
    return ReadWindowRope(file, static_cast<float>(hp->rope.base), hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectEmbeddings(hp, collector, weights));
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
    AttentionSettings full;
    full.rope_style = RopeStyle::kNeox;
    full.rope_table = builder->RopeTable("rope_table", inputs.positions, 0, hp.rope.rope_dim);
    full.scale = 1.0f / std::sqrt(static_cast<float>(hp.head_dim_k));
    full.norm_whole_rows = true;
    AttentionSettings windowed = full;
    if (hp.window_rope.has_value()) {
      windowed.rope_table =
          builder->RopeTable("window_rope_table", inputs.positions, 1, hp.rope.rope_dim);
    }

    for (int32_t layer = 0; layer < hp.n_layers; ++layer) {
      const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
      builder->SetPrefix(StrCat("blk.", layer));
      const AttentionSettings& settings = hp.window(layer) > 0 ? windowed : full;
      ValueId attended = AttentionBlock(model, inputs, layer, settings, x, builder);
      if (layer == hp.n_layers - 1) {
        // Nothing after the last attention mixes rows: go on with those whose logits are wanted.
        attended = builder->SelectRows("select_attended", attended, inputs.output_rows);
        x = builder->SelectRows("select_residual", x, inputs.output_rows);
      }
      attended = builder->RmsNorm("attn_post_norm", attended, w.attn_post_norm, hp.rms_eps);
      x = builder->Add("attn_residual", x, attended);
      ValueId mixed = GatedFfnBlock(model, layer, Activation::kSilu, x, builder);
      mixed = builder->RmsNorm("ffn_post_norm", mixed, w.ffn_post_norm, hp.rms_eps);
      x = builder->Add("ffn_residual", x, mixed);
    }
    builder->SetPrefix("");
    const ValueId normed =
        builder->RmsNorm("output_norm", x, model.weights.output_norm, hp.rms_eps);
    return builder->MatMul("logits", normed, model.weights.output);  // [O, vocabulary]
  }
};

}  // namespace

const Architecture& Olmo2Architecture() {
  static constinit const Olmo2 architecture;
  return architecture;
}

}  // namespace minfer
