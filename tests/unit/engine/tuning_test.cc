// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/tuning.h"

#include <set>

#include "base/str_cat.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

TEST_CASE("Tuning: a string sets levers, and the last one wins", "[engine]") {
  StatusOr<Tuning> tuning =
      ParseTuning(" fuse_qkv = 0 , isa=1,,kv_shuffle=7,fuse_qkv=1", LeverScope::kContext);
  MF_REQUIRE_OK(tuning);
  CHECK(tuning->fuse_qkv);
  CHECK(tuning->isa == 1);
  CHECK(tuning->kv_shuffle == 7);
  MF_REQUIRE_OK(ParseTuning("", LeverScope::kModel));
}

TEST_CASE("Tuning: an unknown lever, a bad value and the wrong options are refused by name",
          "[engine]") {
  for (const char* text : {"tiles=1", "fuse_qkv", "fuse_qkv=2", "fuse_qkv=-1", "fuse_qkv=1x",
                           "isa=5", "isa=99999999999999999999", "=1"}) {
    INFO(text);
    Status status = ParseTuning(text, LeverScope::kContext).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.name() == std::string_view(text).substr(0, std::string_view(text).find('=')));
  }
  CHECK(!ParseTuning("fuse_qkv=1", LeverScope::kModel).ok());
}

TEST_CASE("Tuning: each default of the table is the default of the struct", "[engine]") {
  std::set<std::string> names;
  std::string all_defaults;
  for (const Lever& lever : LeverTable()) {
    CHECK(names.insert(lever.name).second);
    CHECK(lever.default_value >= lever.min_value);
    CHECK(lever.default_value <= lever.max_value);
    if (lever.scope == LeverScope::kContext) {
      all_defaults += StrCat(lever.name, "=", lever.default_value, ",");
    }
  }
  StatusOr<Tuning> tuning = ParseTuning(all_defaults, LeverScope::kContext);
  MF_REQUIRE_OK(tuning);
  const Tuning defaults;
  CHECK(tuning->fuse_qkv == defaults.fuse_qkv);
  CHECK(tuning->fuse_gate_up == defaults.fuse_gate_up);
  CHECK(tuning->fuse_rope_store == defaults.fuse_rope_store);
  CHECK(tuning->attention_stripes == defaults.attention_stripes);
  CHECK(tuning->residual_activations == defaults.residual_activations);
  CHECK(tuning->cuda_graph == defaults.cuda_graph);
  CHECK(tuning->prefill_capture == defaults.prefill_capture);
  CHECK(tuning->pinned_readback == defaults.pinned_readback);
  CHECK(tuning->mmq_raw == defaults.mmq_raw);
  CHECK(tuning->small_m_gemm == defaults.small_m_gemm);
  CHECK(tuning->mmvq == defaults.mmvq);
  CHECK(tuning->mmq == defaults.mmq);
  CHECK(tuning->expert_mmq == defaults.expert_mmq);
  CHECK(tuning->fuse_experts == defaults.fuse_experts);
  CHECK(tuning->kq_mmvq == defaults.kq_mmvq);
  CHECK(tuning->mmvq_mma == defaults.mmvq_mma);
  CHECK(tuning->decode_a_fuse == defaults.decode_a_fuse);
  CHECK(tuning->fuse_inputs == defaults.fuse_inputs);
  CHECK(tuning->fuse_add == defaults.fuse_add);
  CHECK(tuning->fuse_norm == defaults.fuse_norm);
  CHECK(tuning->fuse_ffn == defaults.fuse_ffn);
  CHECK(tuning->fuse_rope == defaults.fuse_rope);
  CHECK(tuning->fa_decode == defaults.fa_decode);
  CHECK(tuning->fuse_combine == defaults.fuse_combine);
  CHECK(tuning->fuse_tail == defaults.fuse_tail);
  CHECK(tuning->early_launch == defaults.early_launch);
  CHECK(tuning->prefill_gemm == defaults.prefill_gemm);
  CHECK(tuning->decode_gemm == defaults.decode_gemm);
  CHECK(tuning->wgmma == defaults.wgmma);
  CHECK(tuning->fa_prefill == defaults.fa_prefill);
  CHECK(tuning->cuda_tier == defaults.cuda_tier);
  CHECK(tuning->device_sampling == defaults.device_sampling);
  CHECK(tuning->reference == defaults.reference);
  CHECK(tuning->isa == defaults.isa);
  CHECK(tuning->kv_shuffle == defaults.kv_shuffle);
}

// The walk: each lever pulled changes the report on kernels, the graph or nothing at all, and keeps
// the results within its class. only: the levers to pull; empty: all. The report with none pulled.
std::string WalkLevers(const std::string& path, int32_t device, LeverDevice without,
                       const std::set<std::string>& only = {}) {
  const std::vector<int32_t> prompt = {1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258};
  std::shared_ptr<const Model> model = LoadModel(path, device);
  auto run = [&](const std::string& tuning, std::vector<KernelReport>* report) {
    ContextOptions options;
    options.n_threads = 4;
    options.n_ctx = 2048;
    options.tuning = tuning;
    std::shared_ptr<Context> context = MakeContext(model, options);
    std::unique_ptr<Session> session = MakeSession(context);
    // Long enough that a decode row has several stripes to attend to.
    for (int i = 0; i < 100; ++i) Decode(session.get(), prompt);
    // Enough rows for every kernel that CUDA has for many.
    if (without == LeverDevice::kCpu) {
      std::vector<int32_t> wide;
      while (wide.size() < 300) wide.push_back(prompt[wide.size() % prompt.size()]);
      Decode(session.get(), wide);
    }
    std::vector<float> logits = Decode(session.get(), {prompt.data(), 1});
    *report = context->kernel_report();
    return logits;
  };
  std::vector<KernelReport> base_report;
  const std::vector<float> base = run("", &base_report);
  auto text = [](const std::vector<KernelReport>& report) {
    std::string all;
    for (const KernelReport& row : report) all += row.op + row.detail + row.kernel + row.reason;
    return all;
  };
  for (const Lever& lever : LeverTable()) {
    // Those of a model: placement_test.cc.
    if (lever.device == without || lever.scope == LeverScope::kModel) continue;
    const std::string name = lever.name;
    if (!only.empty() && only.count(name) == 0) continue;
    // Generic code runs everywhere; the other sets are a matter of the machine.
    const int64_t value = name == "isa" ? 0 : lever.default_value == 0 ? 1 : 0;
    INFO(name);
    std::vector<KernelReport> report;
    const std::vector<float> logits = run(StrCat(name, "=", value), &report);
    float largest = 0.0f;
    for (size_t i = 0; i < base.size(); ++i) {
      largest = std::max(largest, std::abs(base[i] - logits[i]));
    }
    if (lever.result == LeverResult::kBitEqual) {
      CHECK(largest == 0.0f);
    } else {
      CHECK(largest < 0.15f);  // 8-bit activations against float ones
    }
    // What the tiny model has none of: heads for tensor cores (those: cuda/tail_test.cc),
    // super-blocks, halves, and experts (those: model/experts_test.cc).
    const bool absent =
        only.empty() && (name == "fa_prefill" || name == "kq_mmvq" || name == "small_m_gemm" ||
                         name == "expert_mmq" || name == "fuse_experts" || name == "fa_decode" ||
                         name == "fuse_combine" || name == "fuse_tail");
    // A machine without AVX2 runs the generic unit anyway.
    const bool same_isa = name == "isa" && FindDevices().front()->info().level == "generic";
    if (!absent && !same_isa && name != "kv_shuffle") CHECK(text(report) != text(base_report));
  }
  return text(base_report);
}

// Heads and rows that every kernel takes.
RandomModelSpec WideSpec(ElementType type) {
  RandomModelSpec spec;
  spec.n_embd = 256;
  spec.n_heads = 4;
  spec.n_kv_heads = 2;
  spec.head_dim = 64;
  spec.n_ff = 512;
  spec.n_vocab = 512;
  spec.type = type;
  return spec;
}

// As files in Q4_K_M have it: V with more bits than Q and K.
RandomModelSpec MixedSpec() {
  RandomModelSpec spec = WideSpec(ElementType::kQ4_K);
  spec.v_type = ElementType::kQ6_K;
  return spec;
}

TEST_CASE("Tuning: the walk over the table keeps each result in its class", "[engine]") {
  WalkLevers(QuantizedTinyModelPath("qwen3", ElementType::kQ8_0), 0, LeverDevice::kCuda);
}

TEST_CASE("Tuning: Q, K and V of two types in one group", "[engine]") {
  WalkLevers(MakeRandomModel(MixedSpec()), 0, LeverDevice::kCuda, {"fuse_qkv"});
}

TEST_CASE("Tuning: the walk over the table on CUDA", "[engine][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  WalkLevers(QuantizedTinyModelPath("qwen3", ElementType::kQ8_0), *device, LeverDevice::kCpu);
  WalkLevers(MakeRandomModel(WideSpec(ElementType::kQ4_K)), *device, LeverDevice::kCpu,
             {"kq_mmvq", "fa_prefill"});
  WalkLevers(MakeRandomModel(WideSpec(ElementType::kF16)), *device, LeverDevice::kCpu,
             {"small_m_gemm"});
}

TEST_CASE("Tuning: Q, K and V of two types in one launch on CUDA", "[engine][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::string report =
      WalkLevers(MakeRandomModel(MixedSpec()), *device, LeverDevice::kCpu, {"fuse_qkv"});
  CHECK(report.find("another type in the same launch") != std::string::npos);
}

}  // namespace
}  // namespace minfer::testing
