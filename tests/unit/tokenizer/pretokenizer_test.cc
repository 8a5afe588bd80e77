// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pretokenizer.h"

#include <set>

#include "base/str_cat.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

std::vector<std::string> Split(const std::string& rule, std::string_view text) {
  auto pretokenizer = Pretokenizer::Create(rule);
  MF_REQUIRE_OK(pretokenizer);
  std::vector<size_t> ends;
  MF_REQUIRE_OK(pretokenizer->Split(text, &ends));
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (size_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  CHECK(begin == text.size());
  return pieces;
}

using Strings = std::vector<std::string>;

const std::vector<std::string> kRules = {"gpt-2", "smollm", "qwen2", "llama-bpe", "qwen35"};

// pretok_probe.py's vocabulary: every stretch of up to 24 bytes of the texts is a token and every
// way to build it a merge, so that a piece comes out as exactly one token.
VocabularyData ProbeVocabulary(const std::string& pre, const std::vector<std::string>& texts) {
  constexpr size_t kLongest = 24;
  const auto shorter_first = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  std::set<std::string, decltype(shorter_first)> stretches(shorter_first);
  for (const std::string& text : texts) {
    for (size_t i = 0; i < text.size(); ++i) {
      for (size_t n = 2; n <= kLongest && i + n <= text.size(); ++n) {
        stretches.insert(text.substr(i, n));
      }
    }
  }
  VocabularyData data = testing::ByteVocabulary(pre);
  for (const std::string& stretch : stretches) {
    testing::AddToken(&data, testing::SpellBytes(stretch), TokenType::kNormal);
    for (size_t k = 1; k < stretch.size(); ++k) {
      data.merges->Add(testing::SpellBytes(stretch.substr(0, k)) + " " +
                       testing::SpellBytes(stretch.substr(k)));
    }
  }
  return data;
}

TEST_CASE("Pretokenizer: cuts where the published rules cut (B01-B04, B06)", "[tokenizer]") {
  const nlohmann::json want = testing::ReadJson(testing::TestDataPath("pretok_want.json"));
  for (const std::string& rule : kRules) {
    std::vector<Strings> expected = want.at(rule).get<std::vector<Strings>>();
    Strings texts;
    for (const Strings& pieces : expected) {
      texts.emplace_back();
      for (const std::string& piece : pieces) texts.back() += piece;
    }
    REQUIRE(texts.size() == 45);
    const auto tokenizer = testing::MakeTokenizer(ProbeVocabulary(rule, texts));
    for (size_t i = 0; i < texts.size(); ++i) {
      INFO(rule << ": " << texts[i]);
      CHECK(Split(rule, texts[i]) == expected[i]);
      CHECK(testing::Pieces(*tokenizer, testing::Encode(*tokenizer, texts[i])) == expected[i]);
    }
  }
}

TEST_CASE("Pretokenizer: rules of one kind have several names", "[tokenizer]") {
  for (const char* name : {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"}) {
    auto rule = Pretokenizer::Create(name);
    MF_REQUIRE_OK(rule);
    CHECK(rule->llama3_kind());
    CHECK(rule->rule_name() == name);
    CHECK(Split(name, "12345") == Strings{"123", "45"});
  }
  CHECK(Split("phi-2", "'ll 'LL12345") == Strings{"'ll", " '", "LL", "12345"});
  CHECK(Split("deepseek-r1-qwen", "'LL12") == Strings{"'LL", "1", "2"});
}

TEST_CASE("Pretokenizer: refuses an unknown rule by its name (B01)", "[tokenizer]") {
  for (const char* name : {"nosuch", "", "default", "deepseek-llm", "GPT-2"}) {
    const Status status = Pretokenizer::Create(name).status();
    CHECK(status.code() == StatusCode::kNotFound);
    CHECK(status.subsystem() == Subsystem::kTokenizer);
    CHECK(status.name() == name);
  }
}

TEST_CASE("Pretokenizer: cuts out each number first under smollm", "[tokenizer]") {
  // White space before a number ends its stretch, so that it stays whole.
  CHECK(Split("smollm", "a  1 b") == Strings{"a", "  ", "1", " b"});
  CHECK(Split("gpt-2", "a  1 b") == Strings{"a", " ", " 1", " b"});
}

TEST_CASE("Pretokenizer: U+180E is white space no longer", "[tokenizer]") {
  for (const std::string& rule : kRules) {
    CHECK(Split(rule, "!\u180E!") == Strings{"!\u180E!"});
    CHECK(Split(rule, "!\u2028!").size() > 1);
  }
}

TEST_CASE("Pretokenizer: keeps bytes that are not UTF-8 as pieces of their own (B08)",
          "[tokenizer]") {
  for (const std::string& rule : kRules) {
    CHECK(Split(rule, "\xE6\xAD") == Strings{"\xE6\xAD"});
    CHECK(Split(rule, "a\xFF\xFE b") == Strings{"a", "\xFF\xFE", " b"});
    CHECK(Split(rule, "a  \xFF") == Strings{"a", "  ", "\xFF"});
    CHECK(Split(rule, std::string_view("x\0y", 3)) == (rule == "gpt-2" || rule == "smollm"
                                                           ? Strings{"x", std::string(1, '\0'), "y"}
                                                           : Strings{"x", std::string("\0y", 2)}));
  }
}

TEST_CASE("Pretokenizer: long runs need no more than linear work (B11)", "[tokenizer]") {
  // Split refuses with RESOURCE_EXHAUSTED when the engine takes more than a few steps a byte.
  constexpr size_t kCount = testing::kSanitized ? 10000 : 300000;
  for (const std::string& rule : kRules) {
    for (const char* unit : {" ", "a", "7", "\n", " \n", "\u00A0", "\u3000", "🙂", "'", "'s",
                             "\t ", " a", "\r", "!\n", "\xFF", "é\xFF"}) {
      std::string text;
      while (text.size() < kCount) text += unit;
      INFO(rule << " on a run of '" << unit << "'");
      CHECK(Split(rule, text).size() <= kCount);
      text += "x";
      CHECK(Split(rule, text).size() <= kCount + 1);
    }
  }
}

}  // namespace
}  // namespace minfer
