// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The numbers of a model, as its file states them. `A` in the comments is general.architecture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backend/backend.h"
#include "base/status.h"
#include "gguf/model_files.h"

namespace minfer {

struct Hyperparameters {
  std::string architecture;     // general.architecture
  std::string name;             // general.name, for people
  int64_t file_type = -1;       // general.file_type, -1 when absent
  int32_t n_ctx_train = 0;      // A.context_length, tokens
  int32_t n_ctx_original = 0;   // A.rope.scaling.original_context_length, before it was scaled
  int32_t n_embd = 0;           // A.embedding_length
  int32_t n_layers = 0;         // A.block_count
  int32_t n_ff = 0;             // A.feed_forward_length
  int32_t n_heads = 0;          // A.attention.head_count
  int32_t n_kv_heads = 0;       // A.attention.head_count_kv
  int32_t head_dim_k = 0;       // A.attention.key_length
  int32_t head_dim_v = 0;       // A.attention.value_length
  float rms_eps = 0.0f;         // A.attention.layer_norm_rms_epsilon
  float layer_norm_eps = 0.0f;  // A.attention.layer_norm_epsilon, where the norms subtract the mean
  RopeConfig rope;              // A.rope.*; frequency factors come from a tensor, at load
  bool longrope = false;        // A.rope.scaling.type: two tensors of frequency factors
  int32_t sliding_window = 0;   // A.attention.sliding_window, tokens seen, own included; 0: all
  std::vector<bool> layer_windowed;       // layers that have the window; empty: every layer
  std::optional<RopeConfig> window_rope;  // of the windowed layers, where it is not `rope`
  float attention_scale = 0.0f;           // scores are multiplied by it; 0: 1 / sqrt(head_dim_k)
  float attention_softcap = 0.0f;         // A.attn_logit_softcapping, 0: none
  float final_softcap = 0.0f;             // A.final_logit_softcapping, 0: none
  float embedding_scale = 1.0f;           // A.embedding_scale
  float residual_scale = 1.0f;            // A.residual_scale, of what a block adds to the residual
  float logit_divisor = 1.0f;             // A.logit_scale
  bool rotates = true;                    // false: no layer has RoPE
  int32_t n_vocab = 0;                    // rows of token_embd.weight
  // Mixture of experts; all 0 without.
  int32_t n_experts = 0;              // A.expert_count
  int32_t n_experts_used = 0;         // A.expert_used_count, for each row
  int32_t n_ff_expert = 0;            // A.expert_feed_forward_length
  int32_t n_ff_shared = 0;            // A.expert_shared_feed_forward_length; 0: no shared expert
  float expert_weights_scale = 1.0f;  // A.expert_weights_scale
  bool normalise_experts = true;      // A.expert_weights_norm: the weights of a row sum to 1

  int32_t q_width() const { return n_heads * head_dim_k; }
  int32_t k_width() const { return n_kv_heads * head_dim_k; }
  int32_t v_width() const { return n_kv_heads * head_dim_v; }
  // Tokens that a layer sees, own included; 0: all.
  int32_t window(int32_t layer) const {
    const bool windowed = layer_windowed.empty() || layer_windowed[static_cast<size_t>(layer)];
    return windowed ? sliding_window : 0;
  }
};

// What an architecture does with the keys under "A.": reads them, or knows that leaving them out of
// the maths is right. Suffixes, without "A.".
struct KeyRules {
  absl::Span<const std::string_view> honoured;
  absl::Span<const std::string_view> harmless;
  // The norms subtract the mean: their epsilon is attention.layer_norm_epsilon, not
  // attention.layer_norm_rms_epsilon.
  bool layer_norm = false;
};

// Keys that every architecture here reads through ReadCommonHyperparameters.
absl::Span<const std::string_view> CommonHonouredKeys();

// The key of the norms' epsilon.
std::string_view EpsilonKey(const KeyRules& rules);

// Reads and checks the common keys. INVALID_ARGUMENT naming the key when one is missing, has the
// wrong type or an impossible value; n_vocab is left 0.
StatusOr<Hyperparameters> ReadCommonHyperparameters(const ModelFiles& file, const KeyRules& rules);

// A.attention.sliding_window, for architectures that honour it; 0 counts as absent.
Status ReadSlidingWindow(const ModelFiles& file, Hyperparameters* hp);

// A.attention.sliding_window_pattern, for architectures whose layers differ: an array with true for
// each windowed layer, or a period p whose last layer sees all; p = 1: no layer has a window.
// `period` is the architecture's own.
Status ReadWindowPattern(const ModelFiles& file, uint32_t period, Hyperparameters* hp);

// A.rope.freq_base_swa, `base` when it is absent, as the whole RoPE setting of windowed layers:
// they have no scaling.
Status ReadWindowRope(const ModelFiles& file, float base, Hyperparameters* hp);

// Refuses, by name, the first "A.*" key that neither list knows.
Status RefuseUnknownKeys(const ModelFiles& file, const std::string& architecture,
                         const KeyRules& rules);

}  // namespace minfer
