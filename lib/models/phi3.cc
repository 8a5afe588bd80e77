// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Phi-3, Phi-3.5 and Phi-4-mini (Abdin et al. 2024): LLaMA's graph with
//   [q; k; v] = W_qkv n,  [gate; up] = W_gate_up m
// as one matrix each, of which every part is a range of rows. RoPE over the pairs
// (i, i + rope_dim / 2), which may be fewer than the head has (Phi-4-mini: 96 of 128). The long
// context models divide the frequencies by one of two tensors (longrope, Ding et al. 2024) and
// multiply cos and sin by rope.scaling.attn_factor. Each token sees the last sliding_window tokens,
// its own included.
#include "models/architectures.h"
#include "models/blocks.h"

namespace minfer {
namespace {

constexpr std::string_view kHonoured[] = {"attention.sliding_window"};
// vocab_size repeats the number of tokens; the last says how the model was trained.
constexpr std::string_view kHarmless[] = {"vocab_size", "rope.scaling.finetuned"};

class Phi3 final : public Architecture {
 public:
  std::string_view name() const override { return "phi3"; }

  KeyRules keys() const override { return {.honoured = kHonoured, .harmless = kHarmless}; }

  Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const override {
    return ReadSlidingWindow(file, hp);
  }

  Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                        ModelWeights* weights) const override {
    MF_RETURN_IF_ERROR(CollectEmbeddings(hp, collector, weights));
    const int64_t e = hp.n_embd;
    for (int32_t i = 0; i < hp.n_layers; ++i) {
      LayerWeights w;
      MF_ASSIGN_OR_RETURN(w.attn_norm, collector->Vector(LayerTensor(i, "attn_norm.weight"), e));
      const int64_t qkv_widths[] = {hp.q_width(), hp.k_width(), hp.v_width()};
      MF_ASSIGN_OR_RETURN(
          const std::vector<WeightId> qkv,
          collector->StackedMatrices(LayerTensor(i, "attn_qkv.weight"), e, qkv_widths));
      w.q = qkv[0];
      w.k = qkv[1];
      w.v = qkv[2];
      MF_ASSIGN_OR_RETURN(w.o, collector->Matrix(LayerTensor(i, "attn_output.weight"),
                                                 int64_t{hp.n_heads} * hp.head_dim_v, e));
      MF_ASSIGN_OR_RETURN(w.ffn_norm, collector->Vector(LayerTensor(i, "ffn_norm.weight"), e));
      const int64_t ffn_widths[] = {hp.n_ff, hp.n_ff};
      MF_ASSIGN_OR_RETURN(
          const std::vector<WeightId> gate_up,
          collector->StackedMatrices(LayerTensor(i, "ffn_up.weight"), e, ffn_widths));
      w.gate = gate_up[0];
      w.up = gate_up[1];
      MF_ASSIGN_OR_RETURN(w.down, collector->Matrix(LayerTensor(i, "ffn_down.weight"), hp.n_ff, e));
      weights->layers.push_back(w);
    }
    return OkStatus();
  }

  ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                GraphBuilder* builder) const override {
    return PreNormDecoder(model, inputs, RopeStyle::kNeox, builder);
  }
};

}  // namespace

const Architecture& Phi3Architecture() {
  static constinit const Phi3 architecture;
  return architecture;
}

}  // namespace minfer
