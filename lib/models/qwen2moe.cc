// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Qwen1.5-MoE and Qwen2-MoE (Qwen Team 2024): Qwen2's attention, and in every layer in place of the
// FFN
//   p = softmax(W_r m), the U largest chosen and left as they are
//   y = h + sum over the chosen of p_i FFN_i(m) + sigmoid(w_s . m) FFN_s(m),  m = rms(h) ffn_norm
// where FFN_s is the shared expert, which serves every row.
#include "base/str_cat.h"
#include "models/architectures.h"
#include "models/blocks.h"
#include "models/experts.h"

namespace minfer {
namespace {

constexpr std::string_view kSharedKey = "expert_shared_feed_forward_length";
constexpr std::string_view kHonoured[] = {
    "expert_count",
    "expert_used_count",
    "expert_feed_forward_length",
    "expert_weights_scale",
    "expert_weights_norm",
    "expert_gating_func",
    kSharedKey,
};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Qwen2Moe final : public Architecture {
 public:
  std::string_view name() const override { return "qwen2moe"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    MF_RETURN_IF_ERROR(
        ReadExpertKeys(file, {.required = true, .n_ff = hp->n_ff, .normalise = false}, hp));
    const std::string key = StrCat("qwen2moe.", kSharedKey);
    MF_ASSIGN_OR_RETURN(const uint32_t shared,
                        file.metadata().GetU32Or(key, static_cast<uint32_t>(hp->n_ff)));
    if (shared < 1 || shared > (1u << 24)) {
      return Status(StatusCode::kInvalidArgument, Subsystem::kModel, StrCat("value ", shared))
          .WithName(key);
    }
    hp->n_ff_shared = static_cast<int32_t>(shared);
    return OkStatus();
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectDecoderWeights(hp, collector, weights));
    const int64_t e = hp.n_embd;
    const int64_t f = hp.n_ff_shared;
    for (int32_t i = 0; i < hp.n_layers; ++i) {
      LayerWeights& w = weights->layers[static_cast<size_t>(i)];
      const auto name = [i](std::string_view role) { return LayerTensor(i, role); };
      MF_ASSIGN_OR_RETURN(w.q_bias, collector->Vector(name("attn_q.bias"), hp.q_width()));
      MF_ASSIGN_OR_RETURN(w.k_bias, collector->Vector(name("attn_k.bias"), hp.k_width()));
      MF_ASSIGN_OR_RETURN(w.v_bias, collector->Vector(name("attn_v.bias"), hp.v_width()));
      MF_ASSIGN_OR_RETURN(w.shared_gate,
                          collector->Matrix(name("ffn_gate_inp_shexp.weight"), e, 1));
      MF_ASSIGN_OR_RETURN(w.gate, collector->Matrix(name("ffn_gate_shexp.weight"), e, f));
      MF_ASSIGN_OR_RETURN(w.up, collector->Matrix(name("ffn_up_shexp.weight"), e, f));
      MF_ASSIGN_OR_RETURN(w.down, collector->Matrix(name("ffn_down_shexp.weight"), f, e));
    }
    return OkStatus();
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return PreNormDecoder(model, inputs, RopeStyle::kNeox, builder);
  }
};

}  // namespace

const Architecture& Qwen2MoeArchitecture() {
  static constinit const Qwen2Moe architecture;
  return architecture;
}

}  // namespace minfer
