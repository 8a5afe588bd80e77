// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/hyperparameters.h"

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "models/key_reader.h"
#include "models/rope_settings.h"

namespace minfer {
namespace {

constexpr std::string_view kCommonKeys[] = {
    "context_length",
    "embedding_length",
    "block_count",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_log_multiplier",
};

}  // namespace

absl::Span<const std::string_view> CommonHonouredKeys() { return kCommonKeys; }

std::string_view EpsilonKey(const KeyRules& rules) {
  return rules.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
}

StatusOr<Hyperparameters> ReadCommonHyperparameters(const ModelFiles& file, const KeyRules& rules) {
  const Metadata& metadata = file.metadata();
  Hyperparameters hp;
  MF_ASSIGN_OR_RETURN(std::string_view architecture, metadata.GetString("general.architecture"));
  hp.architecture = std::string(architecture);
  // The name is text for people: of any other type, it is as good as absent.
  StatusOr<std::string_view> name = metadata.GetString("general.name");
  if (name.ok()) hp.name = std::string(*name);
  StatusOr<uint32_t> file_type = metadata.GetU32("general.file_type");
  if (file_type.ok()) hp.file_type = *file_type;

  const KeyReader keys(metadata, architecture);
  MF_ASSIGN_OR_RETURN(hp.n_ctx_train, keys.Size("context_length", kMaxModelContext, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_embd, keys.Size("embedding_length", kMaxModelSize, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_layers, keys.Size("block_count", kMaxModelSize, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_ff, keys.Size("feed_forward_length", kMaxModelSize, -1, hp.n_layers));
  MF_ASSIGN_OR_RETURN(hp.n_heads,
                      keys.Size("attention.head_count", kMaxModelSize, -1, hp.n_layers));
  MF_ASSIGN_OR_RETURN(hp.n_kv_heads,
                      keys.Size("attention.head_count_kv", kMaxModelSize, hp.n_heads, hp.n_layers));
  if (hp.n_heads % hp.n_kv_heads != 0) {
    return ImpossibleKey(keys.Key("attention.head_count_kv"),
                         StrCat(hp.n_heads, " heads cannot share ", hp.n_kv_heads, " KV heads"));
  }
  const bool has_key_length = keys.Has("attention.key_length");
  if (!has_key_length && hp.n_embd % hp.n_heads != 0) {
    return ImpossibleKey(keys.Key("attention.head_count"),
                         StrCat(hp.n_heads, " heads do not divide ", hp.n_embd, " columns"));
  }
  const int32_t head_dim = hp.n_embd / hp.n_heads;
  // head_dim is 0 when there are more heads than columns; the key must then be there.
  MF_ASSIGN_OR_RETURN(hp.head_dim_k, keys.Size("attention.key_length", kMaxModelSize,
                                               has_key_length ? -1 : head_dim, -1));
  MF_ASSIGN_OR_RETURN(hp.head_dim_v, keys.Size("attention.value_length", kMaxModelSize,
                                               head_dim > 0 ? head_dim : hp.head_dim_k, -1));
  const int64_t widest = int64_t{hp.n_heads} * std::max(hp.head_dim_k, hp.head_dim_v);
  if (widest > kMaxModelSize) {
    return ImpossibleKey(keys.Key("attention.head_count"),
                         StrCat(hp.n_heads, " heads of ", std::max(hp.head_dim_k, hp.head_dim_v),
                                " values are more than ", kMaxModelSize));
  }
  const std::string epsilon_key = keys.Key(EpsilonKey(rules));
  MF_ASSIGN_OR_RETURN(float eps, metadata.GetF32(epsilon_key));
  if (!std::isfinite(eps) || eps < 0.0f) return ImpossibleKey(epsilon_key, StrCat("value ", eps));
  (rules.layer_norm ? hp.layer_norm_eps : hp.rms_eps) = eps;
  MF_RETURN_IF_ERROR(ReadRopeSettings(keys, &hp));
  return hp;
}

Status ReadSlidingWindow(const ModelFiles& file, Hyperparameters* hp) {
  const std::string key = hp->architecture + ".attention.sliding_window";
  MF_ASSIGN_OR_RETURN(uint32_t window, file.metadata().GetU32Or(key, 0));
  if (window > kMaxModelContext) return ImpossibleKey(key, StrCat("value ", window));
  hp->sliding_window = static_cast<int32_t>(window);
  return OkStatus();
}

Status ReadWindowPattern(const ModelFiles& file, uint32_t period, Hyperparameters* hp) {
  const Metadata& metadata = file.metadata();
  const std::string key = hp->architecture + ".attention.sliding_window_pattern";
  if (metadata.IsArray(key)) {
    MF_ASSIGN_OR_RETURN(hp->layer_windowed, metadata.GetBoolArray(key));
    if (hp->layer_windowed.size() == static_cast<size_t>(hp->n_layers)) return OkStatus();
    return ImpossibleKey(key, StrCat("an array of ", hp->layer_windowed.size(), " values for ",
                                     hp->n_layers, " layers"));
  }
  MF_ASSIGN_OR_RETURN(period, metadata.GetU32Or(key, period));
  if (period == 0) return ImpossibleKey(key, "a period of 0 layers");
  // A declared number: what stands for each layer must not outgrow the file.
  if (static_cast<size_t>(hp->n_layers) > file.tensors().size()) {
    return ImpossibleKey(hp->architecture + ".block_count",
                         StrCat(hp->n_layers, " layers of ", file.tensors().size(), " tensors"));
  }
  hp->layer_windowed.clear();
  for (int32_t i = 0; i < hp->n_layers; ++i) {
    hp->layer_windowed.push_back(static_cast<uint32_t>(i) % period != period - 1);
  }
  return OkStatus();
}

Status ReadWindowRope(const ModelFiles& file, float base, Hyperparameters* hp) {
  const KeyReader keys(file.metadata(), hp->architecture);
  MF_ASSIGN_OR_RETURN(base, keys.Positive("rope.freq_base_swa", base));
  hp->window_rope.emplace();
  hp->window_rope->rope_dim = hp->rope.rope_dim;
  hp->window_rope->base = base;
  return OkStatus();
}

Status RefuseUnknownKeys(const ModelFiles& file, const std::string& architecture,
                         const KeyRules& rules) {
  const Metadata& metadata = file.metadata();
  const std::string prefix = architecture + ".";
  auto listed = [](absl::Span<const std::string_view> list, std::string_view suffix) {
    return std::find(list.begin(), list.end(), suffix) != list.end();
  };
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = metadata.key(i);
    if (key.substr(0, prefix.size()) != prefix) continue;
    const std::string_view suffix = key.substr(prefix.size());
    if (suffix == EpsilonKey(rules) || listed(CommonHonouredKeys(), suffix) ||
        listed(rules.honoured, suffix) || listed(rules.harmless, suffix)) {
      continue;
    }
    return Status(StatusCode::kUnimplemented, Subsystem::kModel,
                  StrCat("architecture ", architecture, " does not know this key; it may change ",
                         "what the model computes (allow_unknown_keys loads it all the same)"))
        .WithName(key);
  }
  return OkStatus();
}

}  // namespace minfer
