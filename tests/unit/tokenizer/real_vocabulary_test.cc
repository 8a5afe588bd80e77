// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Published vocabularies against ids that others made.
#include <algorithm>
#include <sstream>

#include "gguf/model_files.h"
#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"
#include "tokenizer/gguf_vocabulary.h"

namespace minfer {
namespace {

using testing::Decode;
using testing::Encode;
using Ids = std::vector<int32_t>;

VocabularyData LoadData(const std::string& path) {
  auto files = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  auto data = LoadVocabulary(files->metadata());
  MF_REQUIRE_OK(data);
  return *std::move(data);
}

// The texts of an .inp file and, a line for each, the ids of its .out file.
struct Expectations {
  std::vector<std::string> texts;
  std::vector<Ids> ids;
};

Expectations ReadExpectations(const std::string& vocabulary_path) {
  Expectations expectations;
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string rest = testing::ReadFile(vocabulary_path + ".inp");
  for (size_t at = rest.find(separator); at != std::string::npos; at = rest.find(separator)) {
    expectations.texts.push_back(rest.substr(0, at));
    rest.erase(0, at + separator.size());
  }
  expectations.texts.push_back(rest);
  std::istringstream lines(testing::ReadFile(vocabulary_path + ".out"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    expectations.ids.emplace_back();
    for (int32_t id = 0; numbers >> id;) expectations.ids.back().push_back(id);
  }
  // The last text ends with the file, and with the last line break of an editor.
  if (expectations.texts.size() == expectations.ids.size() + 1) expectations.texts.pop_back();
  return expectations;
}

void CheckExpectations(const Tokenizer& tokenizer, const std::string& path) {
  const Expectations expectations = ReadExpectations(path);
  REQUIRE(expectations.texts.size() == expectations.ids.size());
  REQUIRE(expectations.texts.size() > 40);
  for (size_t i = 0; i < expectations.texts.size(); ++i) {
    INFO(path << ": '" << expectations.texts[i] << "'");
    CHECK(Encode(tokenizer, expectations.texts[i], true) == expectations.ids[i]);
    CHECK(Decode(tokenizer, expectations.ids[i]) == expectations.texts[i]);
  }
}

void CheckPublicIds(const Tokenizer& tokenizer, const std::string& column, int at_least = 25) {
  const nlohmann::json cases = testing::ReadJson(testing::TestDataPath("tokenizer_ids.json"));
  int checked = 0;
  for (const nlohmann::json& row : cases.at("rows")) {
    if (!row.contains(column)) continue;
    const std::string text = row.at("text").get<std::string>();
    INFO(column << ": '" << text << "'");
    CHECK(Encode(tokenizer, text, true) == row.at(column).get<Ids>());
    ++checked;
  }
  CHECK(checked >= at_least);
}

// Whether the vocabulary has a token for each byte of `text`. SmolLM2's has none for a few,
// which are left out, as in its own tokenizer.
bool Covers(const Tokenizer& tokenizer, const std::string& text) {
  if (tokenizer.vocabulary().kind() == VocabularyKind::kSentencePiece) return true;
  return std::all_of(text.begin(), text.end(), [&tokenizer](const char& c) {
    return tokenizer.vocabulary().Find(std::string_view(&c, 1)) != kNoToken;
  });
}

// Every token's bytes, and random ids decoded, encoded and decoded again (B25).
void CheckRoundTrips(const Tokenizer& tokenizer) {
  testing::Random random(5);
  const auto size = static_cast<uint64_t>(tokenizer.vocab_size());
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.Attributes(id).type == TokenType::kNormal) CHECK(!tokenizer.Piece(id).empty());
  }
  for (int round = 0; round < 500; ++round) {
    Ids ids;
    for (uint64_t i = 0, n = random.Below(20); i < n; ++i) {
      ids.push_back(static_cast<int32_t>(random.Below(size)));
    }
    const std::string text = Decode(tokenizer, ids);
    REQUIRE(Covers(tokenizer, text));
    CHECK(Decode(tokenizer, Encode(tokenizer, text, true)) == text);
    CHECK(Decode(tokenizer, Encode(tokenizer, text, false)) == text);
  }
  for (int round = 0; round < 500; ++round) {
    const std::string text = testing::RandomText(&random, round % 2 == 0);
    const Ids ids = Encode(tokenizer, text);
    if (Covers(tokenizer, text)) CHECK(Decode(tokenizer, ids) == text);
  }
}

TEST_CASE("RealVocabulary: gpt-2 gives the published ids (B02-B06)", "[tokenizer]") {
  const auto path = testing::SharedDataPath("vocab/ggml-vocab-gpt-2.gguf");
  if (!path.has_value()) return;
  const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
  CHECK(tokenizer->RuleName() == "gpt-2");
  CheckExpectations(*tokenizer, *path);
  CheckPublicIds(*tokenizer, "gpt-2");
  CheckRoundTrips(*tokenizer);
}

TEST_CASE("RealVocabulary: starcoder and deepseek-llm give the published ids (B02-B06)",
          "[tokenizer]") {
  for (const char* name : {"starcoder", "deepseek-llm"}) {
    const auto path = testing::SharedDataPath(std::string("vocab/ggml-vocab-") + name + ".gguf");
    if (!path.has_value()) return;
    const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
    CHECK(tokenizer->RuleName() == name);
    CheckExpectations(*tokenizer, *path);
    CheckRoundTrips(*tokenizer);
    if (std::string_view(name) == "deepseek-llm") CheckPublicIds(*tokenizer, name, 12);
  }
}

TEST_CASE("RealVocabulary: SentencePiece vocabularies give the published ids (B15)",
          "[tokenizer]") {
  for (const char* name : {"llama-spm", "phi-3"}) {
    const auto path = testing::SharedDataPath(std::string("vocab/ggml-vocab-") + name + ".gguf");
    if (!path.has_value()) return;
    const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
    CHECK(tokenizer->RuleName() == "sentencepiece");
    CheckExpectations(*tokenizer, *path);
    CheckPublicIds(*tokenizer, "llama-spm");
    CheckRoundTrips(*tokenizer);
  }
}

constexpr char kSmolLm2[] = "SmolLM2-135M-Instruct.Q4_1.gguf";

struct Strings {
  int total = 0;
  int uncovered = 0;
  std::vector<int> different;  // line numbers
};

// Strings and their ids by others, special tokens parsed, none added.
Strings CheckStrings(const Tokenizer& tokenizer, const std::string& data) {
  const std::string unpacked = testing::MakeTempDir("tokens") + "/tokens.jsonl";
  REQUIRE(testing::RunPython(
      {"-c", "import gzip, sys; open(sys.argv[2], \"wb\").write(gzip.open(sys.argv[1]).read())",
       testing::TestDataPath(data), unpacked}));
  std::istringstream lines(testing::ReadFile(unpacked));
  Strings strings;
  for (std::string line; std::getline(lines, line);) {
    ++strings.total;
    const nlohmann::json entry = nlohmann::json::parse(line);
    const std::string text = entry.at(0).get<std::string>();
    const Ids ids = Encode(tokenizer, text, true);
    if (ids != entry.at(1).get<Ids>()) strings.different.push_back(strings.total);
    if (Covers(tokenizer, text)) {
      CHECK(Decode(tokenizer, ids) == text);
    } else {
      ++strings.uncovered;
    }
  }
  return strings;
}

TEST_CASE("RealVocabulary: SmolLM2 on 4,000 hard strings", "[tokenizer][model]") {
  const auto path = testing::RealModelPath(kSmolLm2);
  if (!path.has_value()) return;
  const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
  const Strings strings = CheckStrings(*tokenizer, "smollm2_tokens.jsonl.gz");
  CHECK(strings.total == 4000);
  CHECK(strings.uncovered == 116);
  CHECK(strings.different == std::vector<int>{});  // not even through Unicode versions
}

TEST_CASE("RealVocabulary: Gemma 3's 262,144 tokens on 2,000 hard strings", "[tokenizer][model]") {
  const auto path = testing::RealModelPath("gemma-3-270m-q4_k_m.gguf");
  if (!path.has_value()) return;
  const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
  CHECK(tokenizer->RuleName() == "sentencepiece");
  CHECK(tokenizer->vocab_size() == 262144);
  CHECK(tokenizer->warnings().empty());
  const Strings strings = CheckStrings(*tokenizer, "gemma3_tokens.jsonl.gz");
  CHECK(strings.total == 2000);
  CHECK(strings.different == std::vector<int>{});
}

TEST_CASE("RealVocabulary: SmolLM2's public ids, round trips and end tokens (B02-B06, B21, B25)",
          "[tokenizer][model]") {
  const auto path = testing::RealModelPath(kSmolLm2);
  if (!path.has_value()) return;
  const auto tokenizer = testing::MakeTokenizer(LoadData(*path));
  CHECK(tokenizer->RuleName() == "smollm");
  CHECK(tokenizer->vocab_size() == 49152);
  CHECK(tokenizer->warnings().empty());
  CheckPublicIds(*tokenizer, "smollm");
  CheckRoundTrips(*tokenizer);
  const Ids end = Encode(*tokenizer, "<|im_end|>", true);
  REQUIRE(end.size() == 1);
  CHECK(tokenizer->IsEndOfGeneration(end[0]));
  CHECK(Encode(*tokenizer, "<|im_end|>").size() > 1);
}

}  // namespace
}  // namespace minfer
