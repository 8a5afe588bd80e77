// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// gpt-oss (OpenAI 2025): every product but the output matrix has a bias, and in every layer
//   h = x + W_o attention(rope(W_q n), rope(W_k n), W_v n),  n = rms(x) attn_norm
// with a learnt score of each head, the sink, in the softmax, which has no value; even layers see
// the last `sliding_window` tokens, odd ones all; RoPE over the pairs (i, i + rope_dim / 2), YaRN;
//   s = W_r m + b_r, the U largest chosen, p = their softmax,  m = rms(h) post_attention_norm
//   y = h + sum over the chosen of p_i W_down_i (g sigmoid(1.702 g) (u + 1))
// where g = min(W_gate_i m, 7) and u = W_up_i m within +-7.
#include <cmath>

#include "base/str_cat.h"
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/experts.h"

namespace minfer {
namespace {

constexpr float kAlpha = 1.702f;
constexpr float kLimit = 7.0f;
// Layers of a period; its last one sees all.
constexpr uint32_t kPeriod = 2;

constexpr std::string_view kHonoured[] = {
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "expert_count",
    "expert_used_count",
    "expert_feed_forward_length",
    "expert_weights_scale",
    "expert_weights_norm",
    "expert_gating_func",
};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class GptOss final : public Architecture {
 public:
  std::string_view name() const override { return "gpt-oss"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(ReadSlidingWindow(file, hp));
    MF_RETURN_IF_ERROR(ReadWindowPattern(file, kPeriod, hp));
    return ReadExpertKeys(file, {.required = true, .n_ff = hp->n_ff, .normalise = true}, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights, "post_attention_norm.weight"));
    const int64_t e = hp.n_embd;
    const int64_t f = hp.n_ff_expert;
    const int64_t x = hp.n_experts;
    for (int32_t i = 0; i < hp.n_layers; ++i) {
      LayerWeights& w = weights->layers[static_cast<size_t>(i)];
      const auto vector = [&](std::string_view role, int64_t n) {
        return collector->Vector(LayerTensor(i, role), n);
      };
      MF_ASSIGN_OR_RETURN(w.q_bias, vector("attn_q.bias", hp.q_width()));
      MF_ASSIGN_OR_RETURN(w.k_bias, vector("attn_k.bias", hp.k_width()));
      MF_ASSIGN_OR_RETURN(w.v_bias, vector("attn_v.bias", hp.v_width()));
      MF_ASSIGN_OR_RETURN(w.o_bias, vector("attn_output.bias", e));
      MF_ASSIGN_OR_RETURN(w.sinks, vector("attn_sinks.weight", hp.n_heads));
      MF_ASSIGN_OR_RETURN(w.router_bias, vector("ffn_gate_inp.bias", x));
      const auto biases = [&](std::string_view role, int64_t n) {
        return collector->ExpertBiases(LayerTensor(i, role), n, x);
      };
      MF_ASSIGN_OR_RETURN(w.expert_gate_bias, biases("ffn_gate_exps.bias", f));
      MF_ASSIGN_OR_RETURN(w.expert_up_bias, biases("ffn_up_exps.bias", f));
      MF_ASSIGN_OR_RETURN(w.expert_down_bias, biases("ffn_down_exps.bias", e));
    }
    return OkStatus();
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    const Hyperparameters& hp = model.hp;
    ExpertSettings experts;
    experts.activation = Activation::kClampedSwiglu;
    experts.alpha = kAlpha;
    experts.limit = kLimit;
    builder->SetPrefix("");
    ValueId x = builder->GetRows("embed", model.weights.token_embd, inputs.token_ids);  // [T, E]
    AttentionSettings attention;
    attention.rope_style = RopeStyle::kNeox;
    attention.rope_table = builder->RopeTable("rope_table", inputs.positions, 0, hp.rope.rope_dim);
    attention.scale = 1.0f / std::sqrt(static_cast<float>(hp.head_dim_k));
    for (int32_t layer = 0; layer < hp.n_layers; ++layer) {
      const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
      builder->SetPrefix(StrCat("blk.", layer));
      const ValueId n = builder->RmsNorm("attn_norm", x, w.attn_norm, hp.rms_eps);
      ValueId attended = AttentionBlock(model, inputs, layer, attention, n, builder);
      if (layer == hp.n_layers - 1) {
        // Nothing after the last attention mixes rows: go on with those whose logits are wanted.
        attended = builder->SelectRows("select_attended", attended, inputs.output_rows);
        x = builder->SelectRows("select_residual", x, inputs.output_rows);
      }
      x = builder->Add("attn_residual", x, attended);
      const ValueId m = builder->RmsNorm("ffn_norm", x, w.ffn_norm, hp.rms_eps);
      x = builder->Add("ffn_residual", x, ExpertFfnBlock(model, layer, experts, m, builder));
    }
    builder->SetPrefix("");
    x = builder->RmsNorm("output_norm", x, model.weights.output_norm, hp.rms_eps);
    return builder->MatMul("logits", x, model.weights.output);  // [O, vocabulary]
  }
};

}  // namespace

const Architecture& GptOssArchitecture() {
  static constinit const GptOss architecture;
  return architecture;
}

}  // namespace minfer
