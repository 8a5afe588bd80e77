// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Models with heads that tensor cores take: each lever of attention changes what the report says
// and keeps the logits within its class.
#include <cmath>

#include "base/str_cat.h"
#include "engine/tuning.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

struct Run {
  std::vector<float> logits;
  std::string report;
};

// A prompt, then tokens one by one: with two stripes and more, recorded and replayed.
Run RunModel(const std::shared_ptr<const Model>& model, const std::string& tuning) {
  ContextOptions options;
  options.n_ctx = 600;
  options.tuning = tuning;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 420; ++i) prompt.push_back(3 + i * 7 % 90);
  Run run;
  const auto add = [&](const std::vector<float>& logits) {
    run.logits.insert(run.logits.end(), logits.begin(), logits.end());
  };
  add(Decode(session.get(), prompt));
  for (int32_t i = 0; i < 6; ++i) add(Decode(session.get(), {5 + i}));
  add(Decode(session.get(), {7, 8, 9, 10, 11}));
  for (const KernelReport& row : context->kernel_report()) {
    run.report += StrCat(row.op, "|", row.detail, "|", row.kernel, "|", row.reason, "\n");
  }
  return run;
}

void CheckLevers(const RandomModelSpec& spec, int32_t device, bool norms) {
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec), device);
  const Run base = RunModel(model, "");
  INFO(spec.architecture << " head " << spec.head_dim);
  INFO(base.report);
  CHECK(base.report.find(norms ? "norms, rotation and store in one"
                               : "rotation and store in one") != std::string::npos);
  for (const char* lever : {"fuse_tail", "fuse_combine", "fuse_rope", "fuse_rope_store",
                            "decode_a_fuse", "early_launch", "cuda_graph"}) {
    const Run run = RunModel(model, StrCat(lever, "=0"));
    INFO(lever << "\n" << run.report);
    CHECK(run.logits == base.logits);
    CHECK(run.report != base.report);
  }
  for (const char* lever : {"fa_decode", "fa_prefill"}) {
    const Run run = RunModel(model, StrCat(lever, "=0"));
    INFO(lever << "\n" << run.report);
    CHECK(run.report != base.report);
    float largest = 0.0f;
    for (size_t i = 0; i < base.logits.size(); ++i) {
      largest = std::max(largest, std::abs(base.logits[i] - run.logits[i]));
    }
    CHECK(largest < 0.15f);
  }
}

TEST_CASE("CUDA engine: the levers of attention keep what they promise", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  RandomModelSpec spec;
  spec.n_embd = 256;
  spec.n_ff = 512;
  spec.type = ElementType::kQ8_0;
  spec.n_heads = 6;
  spec.architecture = "qwen3";
  spec.head_dim = 128;
  CheckLevers(spec, *device, true);
  spec.head_dim = 64;
  spec.n_kv_heads = 1;
  CheckLevers(spec, *device, true);
  spec.architecture = "llama";
  spec.head_dim = 80;
  CheckLevers(spec, *device, false);
}

}  // namespace
}  // namespace minfer::testing
