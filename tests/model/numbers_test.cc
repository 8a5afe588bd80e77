// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Whole-model cases about numbers: large activations, odd head sizes, windows, spare rows.
#include <cmath>
#include <random>

#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

std::vector<int32_t> Tokens(size_t n, int32_t n_vocab) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % static_cast<uint32_t>(n_vocab));
  return tokens;
}

std::vector<float> Run(const std::shared_ptr<const Model>& model, const std::vector<int32_t>& ids,
                       const std::string& tuning = "", int32_t kv = -1) {
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = static_cast<uint32_t>(ids.size()) + 1;
  options.tuning = tuning;
  options.kv_type_k = options.kv_type_v = kv;
  std::unique_ptr<Session> session = MakeSession(MakeContext(model, options));
  return Decode(session.get(), ids);
}

ContextOptions SmallContext() {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 128;
  return options;
}

// rms of the difference over the deviation of `want`.
double Error(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  double mean = 0.0;
  for (float w : want) mean += w;
  mean /= static_cast<double>(want.size());
  double difference = 0.0;
  double deviation = 0.0;
  for (size_t i = 0; i < want.size(); ++i) {
    REQUIRE(std::isfinite(got[i]));
    difference += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
    deviation += (want[i] - mean) * (want[i] - mean);
  }
  return std::sqrt(difference / deviation);
}

TEST_CASE("Numbers: D03 activations of 1e5 on both sides of every chunk size", "[model]") {
  for (ElementType type : {ElementType::kF16, ElementType::kQ8_0, ElementType::kQ4_1}) {
    RandomModelSpec spec;
    spec.ffn_scale = 300.0f;  // gate * up is some 1e5
    spec.type = type;
    std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
    for (size_t n : {63u, 64u, 127u, 128u, 511u, 512u}) {
      INFO(FindElementTraits(type)->name << " " << n);
      const std::vector<int32_t> ids = Tokens(n, spec.n_vocab);
      CHECK(Error(Run(model, ids), Run(model, ids, "reference=1")) < 0.1);
    }
  }
}

TEST_CASE("Numbers: D05 a residual stream of 1e5 stays finite and right", "[model]") {
  RandomModelSpec spec;
  spec.embedding_scale = 1e5f;
  spec.type = ElementType::kQ8_0;
  std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
  const std::vector<int32_t> ids = Tokens(40, spec.n_vocab);
  CHECK(Error(Run(model, ids), Run(model, ids, "reference=1")) < 0.02);
}

TEST_CASE("Numbers: D12 D11 head sizes from 40 to 256 on every instruction set", "[model]") {
  for (int32_t head_dim : {40, 64, 80, 96, 112, 128, 256, 18}) {
    for (const char* architecture : {"llama", "qwen3"}) {
      RandomModelSpec spec;
      spec.architecture = architecture;
      spec.head_dim = head_dim;
      std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
      const std::vector<int32_t> ids = Tokens(70, spec.n_vocab);
      const std::vector<float> want = Run(model, ids, "reference=1");
      for (int32_t isa = 0; isa < 4; ++isa) {
        ContextOptions options;
        options.tuning = "isa=" + std::to_string(isa);
        options.n_ctx = 128;
        StatusOr<std::shared_ptr<Context>> context = Context::Create(model, options);
        if (!context.ok()) {
          CHECK(context.status().code() == StatusCode::kFailedPrecondition);
          ReportSkip(context.status().ToString());
          continue;
        }
        INFO(architecture << " head size " << head_dim << " isa " << isa);
        std::unique_ptr<Session> session = MakeSession(*context);
        CHECK(Error(Decode(session.get(), ids), want) < 1e-4);
      }
    }
  }
}

TEST_CASE("Numbers: D16 a q8_0 cache of a model with large Q and K biases", "[model]") {
  RandomModelSpec spec;
  spec.architecture = "qwen2";
  spec.bias_scale = 20.0f;
  std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
  const std::vector<int32_t> ids = Tokens(100, spec.n_vocab);
  const std::vector<float> want = Run(model, ids);
  const double f16 = Error(Run(model, ids, "", static_cast<int32_t>(KvFormat::kF16)), want);
  const double q8 = Error(Run(model, ids, "", static_cast<int32_t>(KvFormat::kQ8_0)), want);
  // Scores are some hundreds here, so that 8 bits shift the softmax: README says so.
  WARN("large biases: error " << f16 << " with f16, " << q8 << " with q8_0");
  CHECK(f16 < 0.2);
  CHECK(f16 < q8);
}

TEST_CASE("Numbers: D10 E14 a window sees its last tokens and no other", "[model]") {
  RandomModelSpec spec;
  spec.n_layers = 1;  // with one layer nothing older leaks through
  spec.window = 4;
  std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
  std::vector<int32_t> ids = Tokens(200, spec.n_vocab);
  const std::vector<float> want = Run(model, ids);
  std::vector<int32_t> changed = ids;
  for (size_t i = 0; i + 4 < changed.size(); ++i) changed[i] = (changed[i] + 1) % spec.n_vocab;
  CHECK(Run(model, changed) == want);
  changed = ids;
  changed[196] = (changed[196] + 1) % spec.n_vocab;  // the first of the last four
  CHECK(Run(model, changed) != want);

  // In pieces, with pages given back behind the window, and after a rewind as far as it goes.
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 1000;
  options.n_micro_batch = 16;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  CHECK(Decode(session.get(), ids) == want);
  CHECK(context->statistics().n_kv_pages_used <= 2);
  CHECK(session->Truncate(100).code() == StatusCode::kFailedPrecondition);
  MF_REQUIRE_OK(session->Truncate(198));
  CHECK(Decode(session.get(), {ids.data() + 198, 2}) == want);
}

TEST_CASE("Numbers: E14 windowed layers give pages back, full ones beside them do not", "[model]") {
  std::shared_ptr<const Model> model = LoadTinyModel("gemma3");  // six windows of 4, one layer full
  REQUIRE(model->description().group_window == std::vector<int32_t>{4, 0});
  REQUIRE(model->description().layer_group == std::vector<int32_t>{0, 0, 0, 0, 0, 1, 0});
  const std::vector<int32_t> ids = Tokens(300, model->description().hp.n_vocab);
  const std::vector<float> want = Run(model, ids);
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 1000;
  options.n_micro_batch = 16;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  CHECK(Decode(session.get(), ids) == want);
  CHECK(context->statistics().n_kv_pages_used <= 5 + 2);
  const Status status = session->Truncate(100);
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.message().find("the earliest position is 259") != std::string::npos);
  MF_REQUIRE_OK(session->Truncate(259));
  CHECK(Decode(session.get(), {ids.data() + 259, ids.size() - 259}) == want);
}

TEST_CASE("Numbers: D20 spare rows of the output are never sampled", "[model]") {
  RandomModelSpec spec;
  spec.n_tokens = spec.n_vocab - 8;
  spec.spare_row_scale = 100.0f;
  std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec));
  CHECK(model->n_tokens() == spec.n_tokens);
  ContextOptions options;
  options.n_ctx = 128;
  std::unique_ptr<Session> session = MakeSession(MakeContext(model, options));
  SamplingSettings settings = NeutralSamplingSettings();
  settings.temperature = 3.0f;
  MF_REQUIRE_OK(session->SetSampling(settings));
  const int32_t spare = spec.n_tokens;
  CHECK(session->Feed({&spare, 1}).code() == StatusCode::kInvalidArgument);
  Decode(session.get(), Tokens(5, spec.n_tokens));
  for (int32_t token : Greedy(session.get(), 100)) CHECK(token < spec.n_tokens);
}

TEST_CASE("Numbers: a model without a tokenizer runs on ids and refuses text", "[model]") {
  std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(RandomModelSpec()));
  CHECK(model->n_tokens() == 96);
  std::vector<int32_t> ids;
  CHECK(!model->tokenizer().Encode("a", EncodeOptions(), &ids).ok());
  std::unique_ptr<Session> session = MakeSession(MakeContext(model, SmallContext()));
  Decode(session.get(), Tokens(5, 96));
  CHECK(Greedy(session.get(), 5).size() == 5);
}

}  // namespace
}  // namespace minfer::testing
