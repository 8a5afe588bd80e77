// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mean negative log-likelihood of a long text, and the tokens of the golden prompts.
#include <iostream>

#include "sampling/log_probabilities.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

// Of the first 1,024 tokens of the text, nothing prepended: 1,023 terms. The reference (float32
// activations) and the tolerance are those of the golden answers' README.
constexpr double kReferenceNll = 4.0519;
constexpr double kTolerance = 0.01;
constexpr size_t kTokens = 1024;

double MeanNll(const std::shared_ptr<const Model>& model, const std::vector<int32_t>& ids,
               KvFormat kv) {
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = kTokens;
  options.kv_type_k = options.kv_type_v = static_cast<int32_t>(kv);
  std::unique_ptr<Session> session = MakeSession(MakeContext(model, options));
  double sum = 0.0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    const std::vector<float> logits = Decode(session.get(), {ids.data() + i, 1});
    StatusOr<LogProbabilities> probabilities =
        LogProbabilities::Create(logits, static_cast<int32_t>(logits.size()));
    MF_REQUIRE_OK(probabilities);
    StatusOr<float> next = probabilities->Of(ids[i + 1]);
    MF_REQUIRE_OK(next);
    sum -= *next;
  }
  return sum / static_cast<double>(ids.size() - 1);
}

TEST_CASE("Golden: SmolLM2's likelihood of a chapter is the reference's", "[model]") {
  std::optional<std::string> text_path = SharedDataPath("../seeds/002_9d42467355050593.txt");
  std::optional<std::string> model_path = SmolLm2Path();
  if (!text_path.has_value() || !model_path.has_value()) return;
  std::shared_ptr<const Model> model = LoadModel(*model_path);
  std::vector<int32_t> ids;
  EncodeOptions encode;
  encode.add_special = false;
  MF_REQUIRE_OK(model->tokenizer().Encode(ReadFile(*text_path), encode, &ids));
  REQUIRE(ids.size() > kTokens);
  ids.resize(kTokens);
  for (KvFormat kv : {KvFormat::kF32, KvFormat::kF16}) {
    const double nll = MeanNll(model, ids, kv);
    std::cout << "mean negative log-likelihood, KV " << static_cast<int32_t>(kv) << ": " << nll
              << " (reference " << kReferenceNll << ")" << std::endl;
    CHECK(std::abs(nll - kReferenceNll) <= kTolerance);
  }
}

TEST_CASE("Golden: the prompts' texts give their ids", "[model]") {
  std::optional<std::string> model_path = SmolLm2Path();
  if (!model_path.has_value()) return;
  std::shared_ptr<const Model> model = LoadModel(*model_path);
  for (const auto& prompt : ReadJson(TestDataPath("smollm2.json"))["prompts"]) {
    std::vector<int32_t> ids;
    EncodeOptions encode;
    encode.add_special = false;
    encode.parse_special = true;
    MF_REQUIRE_OK(model->tokenizer().Encode(prompt["text"].get<std::string>(), encode, &ids));
    INFO(prompt["name"]);
    CHECK(ids == prompt["ids"].get<std::vector<int32_t>>());
    std::string text;
    DecodeOptions decode;
    MF_REQUIRE_OK(
        model->tokenizer().Decode(prompt["greedy"].get<std::vector<int32_t>>(), decode, &text));
    const std::string want = prompt["greedy_text"].get<std::string>();
    CHECK(text.substr(0, want.size()) == want);
  }
}

}  // namespace
}  // namespace minfer::testing
