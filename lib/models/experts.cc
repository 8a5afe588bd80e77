// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/experts.h"

#include <cmath>

#include "base/str_cat.h"
#include "models/blocks.h"

namespace minfer {
namespace {

// Published models have up to 512.
constexpr uint32_t kMaxExperts = 4096;
constexpr uint32_t kMaxFfn = 1u << 24;
// Scores become weights through a softmax; others are not known here.
constexpr uint32_t kGatingSoftmax = 1;

constexpr std::string_view kKeys[] = {
    "expert_count",         "expert_used_count",   "expert_feed_forward_length",
    "expert_weights_scale", "expert_weights_norm", "expert_gating_func",
};

Status Impossible(std::string_view key, std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kModel, std::move(message)).WithName(key);
}

StatusOr<int32_t> Size(const ModelFiles& file, const std::string& key, uint32_t absent,
                       uint32_t limit) {
  MF_ASSIGN_OR_RETURN(const uint32_t value, file.metadata().GetU32Or(key, absent));
  if (value >= 1 && value <= limit) return static_cast<int32_t>(value);
  return Impossible(key, StrCat("value ", value, " is not from 1 to ", limit));
}

}  // namespace

absl::Span<const std::string_view> ExpertKeys() { return kKeys; }

Status ReadExpertKeys(const ModelFiles& file, const ExpertDefaults& defaults, Hyperparameters* hp) {
  const Metadata& metadata = file.metadata();
  const auto key = [hp](std::string_view suffix) { return StrCat(hp->architecture, ".", suffix); };
  MF_ASSIGN_OR_RETURN(const uint32_t count, metadata.GetU32Or(key("expert_count"), 0));
  if (count == 0 && !defaults.required) return OkStatus();
  MF_ASSIGN_OR_RETURN(hp->n_experts, Size(file, key("expert_count"), 0, kMaxExperts));
  MF_ASSIGN_OR_RETURN(hp->n_experts_used, Size(file, key("expert_used_count"), 0, count));
  MF_ASSIGN_OR_RETURN(hp->n_ff_expert, Size(file, key("expert_feed_forward_length"),
                                            static_cast<uint32_t>(defaults.n_ff), kMaxFfn));
  // 0 counts as absent.
  MF_ASSIGN_OR_RETURN(const float scale, metadata.GetF32Or(key("expert_weights_scale"), 0.0f));
  if (!std::isfinite(scale) || scale < 0.0f) {
    return Impossible(key("expert_weights_scale"), StrCat("value ", scale));
  }
  hp->expert_weights_scale = scale == 0.0f ? 1.0f : scale;
  MF_ASSIGN_OR_RETURN(hp->normalise_experts,
                      metadata.GetBoolOr(key("expert_weights_norm"), defaults.normalise));
  MF_ASSIGN_OR_RETURN(const uint32_t gating,
                      metadata.GetU32Or(key("expert_gating_func"), kGatingSoftmax));
  if (gating == kGatingSoftmax) return OkStatus();
  return Status(StatusCode::kUnimplemented, Subsystem::kModel,
                StrCat("gating function ", gating, " is not known; this version has ",
                       kGatingSoftmax, ", the softmax"))
      .WithName(key("expert_gating_func"));
}

Status CollectExpertWeights(const Hyperparameters& hp, int32_t layer, WeightCollector* collector,
                            LayerWeights* w) {
  const int64_t e = hp.n_embd;
  const int64_t f = hp.n_ff_expert;
  const int64_t x = hp.n_experts;
  const auto name = [layer](std::string_view role) { return LayerTensor(layer, role); };
  MF_ASSIGN_OR_RETURN(w->router, collector->Matrix(name("ffn_gate_inp.weight"), e, x));
  MF_ASSIGN_OR_RETURN(w->expert_gate, collector->Experts(name("ffn_gate_exps.weight"), e, f, x));
  MF_ASSIGN_OR_RETURN(w->expert_up, collector->Experts(name("ffn_up_exps.weight"), e, f, x));
  MF_ASSIGN_OR_RETURN(w->expert_down, collector->Experts(name("ffn_down_exps.weight"), f, e, x));
  return OkStatus();
}

ValueId ExpertFfnBlock(const ModelDescription& model, int32_t layer, const ExpertSettings& settings,
                       ValueId x, GraphBuilder* builder) {
  const Hyperparameters& hp = model.hp;
  const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
  const int32_t used = hp.n_experts_used;
  ValueId scores = builder->MatMul("router", x, w.router);  // [T, X]
  scores = builder->AddBias("router_bias", scores, w.router_bias);
  const auto choice =
      builder->TopExperts("choice", scores, used, hp.normalise_experts, hp.expert_weights_scale);
  const auto groups = builder->GroupExperts("groups", choice.ids, hp.n_experts);
  const ValueId gate = builder->ExpertMatMul("gate_exps", x, groups, w.expert_gate,
                                             w.expert_gate_bias, used);  // [S, F]
  const ValueId up =
      builder->ExpertMatMul("up_exps", x, groups, w.expert_up, w.expert_up_bias, used);
  const ValueId inner =
      settings.activation == Activation::kClampedSwiglu
          ? builder->ClampedSwiglu("gated_exps", gate, up, settings.alpha, settings.limit)
          : builder->GatedAct("gated_exps", gate, up, settings.activation);
  const ValueId down = builder->ExpertMatMul("down_exps", inner, groups, w.expert_down,
                                             w.expert_down_bias, 1);  // [S, E]
  return builder->CombineExperts("combined", down, choice.weights);   // [T, E]
}

}  // namespace minfer
