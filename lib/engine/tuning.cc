// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/tuning.h"

#include <charconv>

#include "backend/device.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr Lever kLevers[] = {
    {"fuse_qkv", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kAny,
     "Q, K and V as one node that converts its input once"},
    {"fuse_gate_up", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kAny,
     "gate, up and activation as one node"},
    {"fuse_rope_store", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kAny,
     "rotation of K and its store as one node"},
    {"attention_stripes", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCpu,
     "stripes of the cache as tasks where decode rows and KV heads are fewer than threads"},
    {"residual_activations", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext,
     LeverDevice::kAny,
     "activations of the output matrix and of W_down in 15 bits: an 8-bit row and its residual"},
    {"reference", 0, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kAny,
     "scalar kernels and float activations, to check the others against"},
    {"isa", -1, -1, 4, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCpu,
     "CPU instruction set: 0 generic, 1 AVX2, 2 AVX-512, 3 and VNNI, 4 and BF16, -1 the best that "
     "runs"},
    {"kv_shuffle", 0, 0, INT64_MAX, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kAny,
     "seed of the order in which KV pages are handed out; 0 ascending"},
    {"cuda_graph", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "splits that repeat are recorded once and launched whole"},
    {"prefill_capture", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "splits with rows of prompts are recorded too; 0: they are launched kernel by kernel"},
    {"pinned_readback", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "results are read back through pinned memory; 0: straight into pageable memory"},
    {"mmvq", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "integer dot products with 8-bit activations for few rows"},
    {"mmq", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "integer tensor cores with 8-bit activations for 9 to 64 rows"},
    {"expert_mmq", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "integer tensor cores with 8-bit activations for the products of experts"},
    {"fuse_experts", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "gate, up and activation of experts as one launch, where slots are few"},
    {"mmq_raw", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "their bytes come to shared memory by cp.async; 0: through registers, as before 8.0"},
    {"small_m_gemm", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "tensor cores with activations of 16 bits for 2 to 31 rows with F16 and BF16; 0: f32"},
    {"kq_mmvq", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "the same for types of super-blocks; 0: decoded, then a float dot"},
    {"mmvq_mma", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "integer tensor cores for few rows, weights streamed through shared memory; 0: dp4a"},
    {"decode_a_fuse", 2, 0, 2, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "norms and attention of few rows quantise what they make: 0 off, 1 both forms, 2 that alone"},
    {"fuse_inputs", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "the inputs of a step of few rows, its embeddings and its RoPE table as one launch"},
    {"fuse_add", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "a product of few rows and the addition after it as one launch"},
    {"fuse_norm", 0, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "the norm of one short row by the product that reads it"},
    {"fuse_ffn", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "the activation of gate and up quantised for W_down by the launch that makes it"},
    {"fuse_rope", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "rotation of Q by the launch that rotates and stores K"},
    {"fa_decode", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "tensor cores for the attention of few rows, values split in two halves to keep f32"},
    {"fuse_combine", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "with fa_decode: the stripes of long rows are added up by the launch that makes them"},
    {"fuse_tail", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "with fa_decode and fuse_rope: norms and rotation of Q and K and the store of decode rows by "
     "attention's launch"},
    {"early_launch", 1, 0, 1, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "kernels start while the one before them ends, and load weights ahead"},
    {"prefill_gemm", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "tensor cores for products of many rows"},
    {"decode_gemm", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "weights decoded to halves in scratch before products of 256 rows and more"},
    {"wgmma", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "Hopper's products of halves from shared memory, where weights are decoded to scratch"},
    {"fa_prefill", 1, 0, 1, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "tensor cores for the attention of many rows"},
    {"gpu_layers", -1, -1, 100000, LeverResult::kTolerance, LeverScope::kModel, LeverDevice::kAny,
     "the first layers on the model's device, what follows on the CPU; -1: everything there"},
    {"gpu_budget_mib", 0, 0, 1 << 30, LeverResult::kTolerance, LeverScope::kModel,
     LeverDevice::kAny,
     "as many layers on the model's device as have so many MiB of weights there; 0: no limit"},
    {"w16_cache", 0, 0, 1 << 30, LeverResult::kTolerance, LeverScope::kModel, LeverDevice::kCuda,
     "MiB of the device for f16 copies of quantised matrices, for prompts of 256 rows and more"},
    {"q6k_exp", 0, 0, 1, LeverResult::kBitEqual, LeverScope::kModel, LeverDevice::kCuda,
     "a copy of Q6_K with a byte a code, for 9 rows and more on integer tensor cores"},
    {"q4k_dsc", 0, 0, 1, LeverResult::kBitEqual, LeverScope::kModel, LeverDevice::kCuda,
     "a copy of Q4_K with its scales multiplied out, for 9 rows and more on integer tensor cores"},
    {"device_sampling", 1, 0, 2, LeverResult::kBitEqual, LeverScope::kContext, LeverDevice::kCuda,
     "rows of logits stay on the device where its best entries are enough to pick a token; 2: the "
     "same way on the CPU"},
    {"cuda_tier", 0, 0, 999, LeverResult::kTolerance, LeverScope::kContext, LeverDevice::kCuda,
     "the kernels of this compute capability (75 for 7.5) or below; 0: the device's own"},
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void Apply(std::string_view name, int64_t value, Tuning* tuning) {
  if (name == "fuse_qkv") tuning->fuse_qkv = value != 0;
  if (name == "fuse_gate_up") tuning->fuse_gate_up = value != 0;
  if (name == "fuse_rope_store") tuning->fuse_rope_store = value != 0;
  if (name == "attention_stripes") tuning->attention_stripes = value != 0;
  if (name == "residual_activations") tuning->residual_activations = value != 0;
  if (name == "cuda_graph") tuning->cuda_graph = value != 0;
  if (name == "prefill_capture") tuning->prefill_capture = value != 0;
  if (name == "pinned_readback") tuning->pinned_readback = value != 0;
  if (name == "mmq_raw") tuning->mmq_raw = value != 0;
  if (name == "small_m_gemm") tuning->small_m_gemm = value != 0;
  if (name == "mmvq") tuning->mmvq = value != 0;
  if (name == "mmq") tuning->mmq = value != 0;
  if (name == "expert_mmq") tuning->expert_mmq = value != 0;
  if (name == "fuse_experts") tuning->fuse_experts = value != 0;
  if (name == "decode_gemm") tuning->decode_gemm = value != 0;
  if (name == "wgmma") tuning->wgmma = value != 0;
  if (name == "kq_mmvq") tuning->kq_mmvq = value != 0;
  if (name == "mmvq_mma") tuning->mmvq_mma = value != 0;
  if (name == "decode_a_fuse") tuning->decode_a_fuse = static_cast<int32_t>(value);
  if (name == "fuse_inputs") tuning->fuse_inputs = value != 0;
  if (name == "fuse_add") tuning->fuse_add = value != 0;
  if (name == "fuse_norm") tuning->fuse_norm = value != 0;
  if (name == "fuse_ffn") tuning->fuse_ffn = value != 0;
  if (name == "fuse_rope") tuning->fuse_rope = value != 0;
  if (name == "fa_decode") tuning->fa_decode = value != 0;
  if (name == "fuse_combine") tuning->fuse_combine = value != 0;
  if (name == "fuse_tail") tuning->fuse_tail = value != 0;
  if (name == "early_launch") tuning->early_launch = value != 0;
  if (name == "prefill_gemm") tuning->prefill_gemm = value != 0;
  if (name == "fa_prefill") tuning->fa_prefill = value != 0;
  if (name == "reference") tuning->reference = value != 0;
  if (name == "gpu_layers") tuning->gpu_layers = static_cast<int32_t>(value);
  if (name == "gpu_budget_mib") tuning->gpu_budget_mib = static_cast<int32_t>(value);
  if (name == "w16_cache") tuning->w16_cache = static_cast<int32_t>(value);
  if (name == "q6k_exp") tuning->q6k_exp = value != 0;
  if (name == "q4k_dsc") tuning->q4k_dsc = value != 0;
  if (name == "device_sampling") tuning->device_sampling = static_cast<int32_t>(value);
  if (name == "cuda_tier") tuning->cuda_tier = static_cast<int32_t>(value);
  if (name == "isa") tuning->isa = static_cast<int32_t>(value);
  if (name == "kv_shuffle") tuning->kv_shuffle = static_cast<uint64_t>(value);
}

Status ApplyOne(std::string_view item, LeverScope scope, Tuning* tuning) {
  const size_t equals = item.find('=');
  const std::string_view name = Trim(item.substr(0, equals));
  for (const Lever& lever : kLevers) {
    if (name != lever.name) continue;
    if (lever.scope != scope) {
      return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                    "this lever belongs to the other options (model or context)")
          .WithName(name);
    }
    const std::string_view text =
        equals == std::string_view::npos ? "" : Trim(item.substr(equals + 1));
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < lever.min_value ||
        value > lever.max_value) {
      return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                    StrCat("value \"", text.substr(0, 32), "\" is not a whole number from ",
                           lever.min_value, " to ", lever.max_value))
          .WithName(name);
    }
    Apply(name, value, tuning);
    return OkStatus();
  }
  return Status(StatusCode::kInvalidArgument, Subsystem::kEngine, "no lever has this name")
      .WithName(name);
}

}  // namespace

absl::Span<const Lever> LeverTable() { return kLevers; }

void ApplyTuning(const Tuning& tuning, BackendOptions* options) {
  options->reference = tuning.reference;
  options->forced_isa = tuning.isa;
  options->residual_activations = tuning.residual_activations;
  options->attention_stripes = tuning.attention_stripes;
  options->cuda_graph = tuning.cuda_graph;
  options->prefill_capture = tuning.prefill_capture;
  options->pinned_readback = tuning.pinned_readback;
  options->mmq_raw = tuning.mmq_raw;
  options->small_m_gemm = tuning.small_m_gemm;
  options->mmvq = tuning.mmvq;
  options->mmq = tuning.mmq;
  options->expert_mmq = tuning.expert_mmq;
  options->fuse_experts = tuning.fuse_experts;
  options->kq_mmvq = tuning.kq_mmvq;
  options->mmvq_mma = tuning.mmvq_mma;
  options->decode_a_fuse = tuning.decode_a_fuse;
  options->fuse_inputs = tuning.fuse_inputs;
  options->fuse_add = tuning.fuse_add;
  options->fuse_norm = tuning.fuse_norm;
  options->fuse_ffn = tuning.fuse_ffn;
  options->fuse_rope = tuning.fuse_rope;
  options->fa_decode = tuning.fa_decode;
  options->fuse_combine = tuning.fuse_combine;
  options->fuse_tail = tuning.fuse_tail;
  options->early_launch = tuning.early_launch;
  options->prefill_gemm = tuning.prefill_gemm;
  options->decode_gemm = tuning.decode_gemm;
  options->wgmma = tuning.wgmma;
  options->fa_prefill = tuning.fa_prefill;
  options->cuda_tier = tuning.cuda_tier;
  options->device_sampling = tuning.device_sampling != 0;
}

StatusOr<Tuning> ParseTuning(std::string_view text, LeverScope scope) {
  Tuning tuning;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = Trim(text.substr(0, comma));
    if (!item.empty()) MF_RETURN_IF_ERROR(ApplyOne(item, scope, &tuning));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return tuning;
}

}  // namespace minfer
