// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The lever table: every optimisation and every debugging switch by name, with its default and what
// pulling it may do to the results. Set through the tuning strings of load and context options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "base/status.h"

namespace minfer {

// What a change of the lever does to results.
enum class LeverResult : int32_t { kBitEqual = 0, kTolerance = 1 };
// Where the lever has an effect.
enum class LeverDevice : int32_t { kAny = 0, kCpu = 1, kCuda = 2 };
// Whose options take the lever.
enum class LeverScope : int32_t { kModel = 0, kContext = 1 };

struct Lever {
  const char* name;
  int64_t default_value;
  int64_t min_value;
  int64_t max_value;
  LeverResult result;
  LeverScope scope;
  LeverDevice device;
  const char* meaning;
};

absl::Span<const Lever> LeverTable();

struct Tuning {
  bool fuse_qkv = true;
  bool fuse_gate_up = true;
  bool fuse_rope_store = true;
  bool reference = false;
  bool attention_stripes = true;
  bool residual_activations = true;
  bool cuda_graph = true;
  bool prefill_capture = true;
  bool pinned_readback = true;
  bool mmvq = true;
  bool mmq = true;
  bool expert_mmq = true;
  bool fuse_experts = true;
  bool mmq_raw = true;
  bool small_m_gemm = true;
  bool kq_mmvq = true;
  bool mmvq_mma = true;
  int32_t decode_a_fuse = 2;
  bool fuse_inputs = true;
  bool fuse_add = true;
  bool fuse_norm = false;
  bool fuse_ffn = true;
  bool fuse_rope = true;
  bool fa_decode = true;
  bool fuse_combine = true;
  bool fuse_tail = true;
  bool early_launch = true;
  bool prefill_gemm = true;
  bool decode_gemm = true;
  bool wgmma = true;
  bool fa_prefill = true;
  int32_t gpu_layers = -1;
  int32_t gpu_budget_mib = 0;
  int32_t w16_cache = 0;
  bool q6k_exp = false;
  bool q4k_dsc = false;
  int32_t device_sampling = 1;
  int32_t cuda_tier = 0;
  int32_t isa = -1;
  uint64_t kv_shuffle = 0;
};

struct BackendOptions;

// What a backend is told of the levers, for a plan and for the context alike.
void ApplyTuning(const Tuning& tuning, BackendOptions* options);

// "lever=value,lever=value"; spaces around either are ignored. INVALID_ARGUMENT naming a lever that
// does not exist, belongs to other options, or has a value out of its range.
StatusOr<Tuning> ParseTuning(std::string_view text, LeverScope scope);

}  // namespace minfer
