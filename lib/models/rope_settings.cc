// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/rope_settings.h"

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"

namespace minfer {
namespace {

// Model cards round it to four digits and more.
constexpr double kSharpenedTolerance = 1e-3;

// A factor of 0 counts as absent, as in the files of old converters; rope.scale_linear is its old
// name.
StatusOr<float> ReadFactor(const KeyReader& keys) {
  MF_ASSIGN_OR_RETURN(float old_factor, keys.Number("rope.scale_linear", 0.0f));
  MF_ASSIGN_OR_RETURN(float factor, keys.Number("rope.scaling.factor", old_factor));
  if (factor < 0.0f) {
    return ImpossibleKey(keys.Key("rope.scaling.factor"), StrCat("value ", factor));
  }
  return factor == 0.0f ? 1.0f : factor;
}

Status ReadYarn(const KeyReader& keys, float factor, RopeConfig* rope) {
  rope->yarn = true;
  rope->yarn_factor = factor;
  MF_ASSIGN_OR_RETURN(float fast, keys.Positive("rope.scaling.yarn_beta_fast", 32.0f));
  MF_ASSIGN_OR_RETURN(float slow, keys.Positive("rope.scaling.yarn_beta_slow", 1.0f));
  rope->yarn_beta_fast = fast;
  rope->yarn_beta_slow = slow;
  MF_ASSIGN_OR_RETURN(float ext, keys.Number("rope.scaling.yarn_ext_factor", 1.0f));
  if (ext < 0.0f || ext > 1.0f) {
    return ImpossibleKey(keys.Key("rope.scaling.yarn_ext_factor"),
                         StrCat("value ", ext, " is not from 0 to 1"));
  }
  rope->yarn_ext_factor = ext;
  // Peng et al. 2023, section 3.4: attention is sharpened by sqrt(1/t) = 0.1 ln(factor) + 1.
  const double sharpened = ext > 0.0f ? 1.0 + 0.1 * std::log(std::max(1.0, double{factor})) : 1.0;
  rope->magnitude *= sharpened;
  // Some writers put here what multiplies this, some what replaces it.
  MF_ASSIGN_OR_RETURN(float attention, keys.Number("rope.scaling.yarn_attn_factor", 1.0f));
  if (std::fabs(attention - sharpened) > kSharpenedTolerance) {
    MF_RETURN_IF_ERROR(keys.MustBe("rope.scaling.yarn_attn_factor", 1.0f,
                                   "its meaning differs from writer to writer"));
  }
  return keys.MustBe("rope.scaling.yarn_log_multiplier", 0.0f,
                     "its meaning differs from writer to writer");
}

// Only yarn gives these a meaning.
Status RefuseYarnKeys(const KeyReader& keys) {
  constexpr std::string_view kWhy = "the scaling is not yarn";
  MF_RETURN_IF_ERROR(keys.MustBe("rope.scaling.yarn_ext_factor", 0.0f, kWhy));
  MF_RETURN_IF_ERROR(keys.MustBe("rope.scaling.yarn_attn_factor", 1.0f, kWhy));
  return keys.MustBe("rope.scaling.yarn_log_multiplier", 0.0f, kWhy);
}

}  // namespace

Status ReadRopeSettings(const KeyReader& keys, Hyperparameters* hp) {
  RopeConfig& rope = hp->rope;
  MF_ASSIGN_OR_RETURN(rope.rope_dim, keys.Size("rope.dimension_count", kMaxModelSize,
                                               hp->head_dim_k, hp->n_layers));
  if (rope.rope_dim % 2 != 0 || rope.rope_dim > hp->head_dim_k) {
    return ImpossibleKey(
        keys.Key("rope.dimension_count"),
        StrCat("value ", rope.rope_dim, " is odd or more than the head size ", hp->head_dim_k));
  }
  MF_ASSIGN_OR_RETURN(float base, keys.Positive("rope.freq_base", 10000.0f));
  rope.base = base;
  MF_ASSIGN_OR_RETURN(float factor, ReadFactor(keys));
  MF_ASSIGN_OR_RETURN(float attention, keys.Positive("rope.scaling.attn_factor", 1.0f));
  rope.magnitude = attention;
  MF_ASSIGN_OR_RETURN(int32_t original, keys.Size("rope.scaling.original_context_length",
                                                  kMaxModelContext, hp->n_ctx_train, -1));
  hp->n_ctx_original = original;
  rope.yarn_original_context = original;

  constexpr std::string_view kType = "rope.scaling.type";
  MF_ASSIGN_OR_RETURN(std::string_view type, keys.Text(kType, "linear"));
  if (type == "yarn") return ReadYarn(keys, factor, &rope);
  MF_RETURN_IF_ERROR(RefuseYarnKeys(keys));
  if (type == "none") return OkStatus();
  if (type == "linear") {
    rope.linear_factor = factor;
    return OkStatus();
  }
  if (type == "longrope") {
    hp->longrope = true;
    return keys.MustBe("rope.scaling.factor", 1.0f, "longrope takes its factors from tensors");
  }
  return ImpossibleKey(keys.Key(kType),
                       StrCat("scaling \"", type, "\" is not known to this version"));
}

}  // namespace minfer
