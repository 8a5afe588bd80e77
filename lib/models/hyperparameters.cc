// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/hyperparameters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/str_cat.h"

namespace minfer {
namespace {

// Larger numbers are no model's: they would only make products overflow.
constexpr uint32_t kMaxSize = 1u << 24;
constexpr uint32_t kMaxContext = std::numeric_limits<int32_t>::max();

constexpr std::string_view kCommonKeys[] = {
    "context_length",
    "embedding_length",
    "block_count",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
};

Status Impossible(std::string_view key, std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kModel, std::move(message)).WithName(key);
}

// Reads the keys of one architecture.
class KeyReader {
 public:
  KeyReader(const Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(StrCat(architecture, ".")) {}

  std::string Key(std::string_view suffix) const { return StrCat(prefix_, suffix); }
  bool Has(std::string_view suffix) const { return metadata_.Has(Key(suffix)); }

  // A size from 1 to `limit`; required unless `absent` is at least 0. An array with one value a
  // layer is taken when all are equal.
  StatusOr<int32_t> Size(std::string_view suffix, uint32_t limit, int64_t absent, int32_t layers) {
    const std::string key = Key(suffix);
    if (!metadata_.Has(key)) {
      if (absent >= 0) return static_cast<int32_t>(absent);
      return Impossible(key, "the key is required and missing");
    }
    uint32_t value = 0;
    if (metadata_.IsArray(key)) {
      MF_ASSIGN_OR_RETURN(std::vector<uint32_t> values, metadata_.GetU32Array(key));
      if (layers < 0 || values.size() != static_cast<size_t>(layers)) {
        return Impossible(key,
                          StrCat("an array of ", values.size(), " values for ", layers, " layers"));
      }
      for (uint32_t v : values) {
        if (v != values[0]) {
          return Impossible(key, StrCat("values differ from layer to layer (", values[0], " and ",
                                        v, "); one value for all is supported"));
        }
      }
      value = values[0];
    } else {
      MF_ASSIGN_OR_RETURN(value, metadata_.GetU32(key));
    }
    if (value == 0 || value > limit) {
      return Impossible(key, StrCat("value ", value, " is not from 1 to ", limit));
    }
    return static_cast<int32_t>(value);
  }

  StatusOr<float> Positive(std::string_view suffix, float absent) {
    MF_ASSIGN_OR_RETURN(float value, metadata_.GetF32Or(Key(suffix), absent));
    if (!std::isfinite(value) || value <= 0.0f) {
      return Impossible(Key(suffix), StrCat("value ", value, " is not a positive number"));
    }
    return value;
  }

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

Status ReadRope(const Metadata& metadata, KeyReader* keys, Hyperparameters* hp) {
  RopeConfig& rope = hp->rope;
  MF_ASSIGN_OR_RETURN(rope.rope_dim,
                      keys->Size("rope.dimension_count", kMaxSize, hp->head_dim_k, hp->n_layers));
  if (rope.rope_dim % 2 != 0 || rope.rope_dim > hp->head_dim_k) {
    return Impossible(
        keys->Key("rope.dimension_count"),
        StrCat("value ", rope.rope_dim, " is odd or more than the head size ", hp->head_dim_k));
  }
  MF_ASSIGN_OR_RETURN(float base, keys->Positive("rope.freq_base", 10000.0f));
  rope.base = base;

  // A factor of 0 counts as absent, as in the files of old converters.
  MF_ASSIGN_OR_RETURN(float old_factor, metadata.GetF32Or(keys->Key("rope.scale_linear"), 0.0f));
  MF_ASSIGN_OR_RETURN(float factor,
                      metadata.GetF32Or(keys->Key("rope.scaling.factor"), old_factor));
  if (!std::isfinite(factor) || factor < 0.0f) {
    return Impossible(keys->Key("rope.scaling.factor"), StrCat("value ", factor));
  }
  if (factor == 0.0f) factor = 1.0f;
  const bool stated = keys->Has("rope.scaling.type");
  MF_ASSIGN_OR_RETURN(std::string_view type,
                      metadata.GetStringOr(keys->Key("rope.scaling.type"), "linear"));
  if (type == "none") return OkStatus();
  if (type == "linear" || (!stated && type.empty())) {
    rope.linear_factor = factor;
    return OkStatus();
  }
  if (type != "yarn") {
    return Impossible(keys->Key("rope.scaling.type"),
                      StrCat("scaling \"", type, "\" is not known to this version"));
  }
  rope.yarn = true;
  rope.yarn_factor = factor;
  // Peng et al. 2023, section 3.4: attention is sharpened by sqrt(1/t) = 0.1 ln(factor) + 1.
  rope.magnitude = factor > 1.0f ? 1.0 + 0.1 * std::log(static_cast<double>(factor)) : 1.0;
  MF_ASSIGN_OR_RETURN(int32_t original, keys->Size("rope.scaling.original_context_length",
                                                   kMaxContext, hp->n_ctx_train, -1));
  rope.yarn_original_context = original;
  MF_ASSIGN_OR_RETURN(float fast, keys->Positive("rope.scaling.yarn_beta_fast", 32.0f));
  MF_ASSIGN_OR_RETURN(float slow, keys->Positive("rope.scaling.yarn_beta_slow", 1.0f));
  rope.yarn_beta_fast = fast;
  rope.yarn_beta_slow = slow;
  return OkStatus();
}

}  // namespace

absl::Span<const std::string_view> CommonHonouredKeys() { return kCommonKeys; }

StatusOr<Hyperparameters> ReadCommonHyperparameters(const ModelFiles& file) {
  const Metadata& metadata = file.metadata();
  Hyperparameters hp;
  MF_ASSIGN_OR_RETURN(std::string_view architecture, metadata.GetString("general.architecture"));
  hp.architecture = std::string(architecture);
  // The name is text for people: of any other type, it is as good as absent.
  StatusOr<std::string_view> name = metadata.GetString("general.name");
  if (name.ok()) hp.name = std::string(*name);
  StatusOr<uint32_t> file_type = metadata.GetU32("general.file_type");
  if (file_type.ok()) hp.file_type = *file_type;

  KeyReader keys(metadata, architecture);
  MF_ASSIGN_OR_RETURN(hp.n_ctx_train, keys.Size("context_length", kMaxContext, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_embd, keys.Size("embedding_length", kMaxSize, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_layers, keys.Size("block_count", kMaxSize, -1, -1));
  MF_ASSIGN_OR_RETURN(hp.n_ff, keys.Size("feed_forward_length", kMaxSize, -1, hp.n_layers));
  MF_ASSIGN_OR_RETURN(hp.n_heads, keys.Size("attention.head_count", kMaxSize, -1, hp.n_layers));
  MF_ASSIGN_OR_RETURN(hp.n_kv_heads,
                      keys.Size("attention.head_count_kv", kMaxSize, hp.n_heads, hp.n_layers));
  if (hp.n_heads % hp.n_kv_heads != 0) {
    return Impossible(keys.Key("attention.head_count_kv"),
                      StrCat(hp.n_heads, " heads cannot share ", hp.n_kv_heads, " KV heads"));
  }
  const bool has_key_length = keys.Has("attention.key_length");
  if (!has_key_length && hp.n_embd % hp.n_heads != 0) {
    return Impossible(keys.Key("attention.head_count"),
                      StrCat(hp.n_heads, " heads do not divide ", hp.n_embd, " columns"));
  }
  const int32_t head_dim = hp.n_embd / hp.n_heads;
  // head_dim is 0 when there are more heads than columns; the key must then be there.
  MF_ASSIGN_OR_RETURN(hp.head_dim_k, keys.Size("attention.key_length", kMaxSize,
                                               has_key_length ? -1 : head_dim, -1));
  MF_ASSIGN_OR_RETURN(hp.head_dim_v, keys.Size("attention.value_length", kMaxSize,
                                               head_dim > 0 ? head_dim : hp.head_dim_k, -1));
  const int64_t widest = int64_t{hp.n_heads} * std::max(hp.head_dim_k, hp.head_dim_v);
  if (widest > kMaxSize) {
    return Impossible(keys.Key("attention.head_count"),
                      StrCat(hp.n_heads, " heads of ", std::max(hp.head_dim_k, hp.head_dim_v),
                             " values are more than ", kMaxSize));
  }
  MF_ASSIGN_OR_RETURN(float eps, metadata.GetF32(keys.Key("attention.layer_norm_rms_epsilon")));
  if (!std::isfinite(eps) || eps < 0.0f) {
    return Impossible(keys.Key("attention.layer_norm_rms_epsilon"), StrCat("value ", eps));
  }
  hp.rms_eps = eps;
  MF_RETURN_IF_ERROR(ReadRope(metadata, &keys, &hp));
  return hp;
}

Status ReadSlidingWindow(const ModelFiles& file, Hyperparameters* hp) {
  const std::string key = hp->architecture + ".attention.sliding_window";
  MF_ASSIGN_OR_RETURN(uint32_t window, file.metadata().GetU32Or(key, 0));
  if (window > kMaxContext) return Impossible(key, StrCat("value ", window));
  hp->sliding_window = static_cast<int32_t>(window);
  return OkStatus();
}

Status ReadWindowPattern(const ModelFiles& file, uint32_t period, Hyperparameters* hp) {
  const Metadata& metadata = file.metadata();
  const std::string key = hp->architecture + ".attention.sliding_window_pattern";
  if (metadata.IsArray(key)) {
    MF_ASSIGN_OR_RETURN(hp->layer_windowed, metadata.GetBoolArray(key));
    if (hp->layer_windowed.size() == static_cast<size_t>(hp->n_layers)) return OkStatus();
    return Impossible(key, StrCat("an array of ", hp->layer_windowed.size(), " values for ",
                                  hp->n_layers, " layers"));
  }
  MF_ASSIGN_OR_RETURN(period, metadata.GetU32Or(key, period));
  if (period == 0) return Impossible(key, "a period of 0 layers");
  hp->layer_windowed.clear();
  for (int32_t i = 0; i < hp->n_layers; ++i) {
    hp->layer_windowed.push_back(static_cast<uint32_t>(i) % period != period - 1);
  }
  return OkStatus();
}

Status ReadWindowRope(const ModelFiles& file, float base, Hyperparameters* hp) {
  KeyReader keys(file.metadata(), hp->architecture);
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
    if (listed(CommonHonouredKeys(), suffix) || listed(rules.honoured, suffix) ||
        listed(rules.harmless, suffix)) {
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
