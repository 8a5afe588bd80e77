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

// Those whose pieces are recorded.
const std::vector<std::string> kRules = {"gpt-2",  "smollm",       "qwen2",       "llama-bpe",
                                         "qwen35", "deepseek-llm", "deepseek-v3", "tekken"};
// The kinds that are left.
const std::vector<std::string> kOtherRules = {"deepseek-coder", "falcon", "default", "gpt-4o"};

std::vector<std::string> EveryKind() {
  std::vector<std::string> rules = kRules;
  rules.insert(rules.end(), kOtherRules.begin(), kOtherRules.end());
  return rules;
}

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
  for (const char* name : {"gpt-2", "phi-2", "mpt", "olmo"}) {
    CHECK(Split(name, "'ll 'LL12345") == Strings{"'ll", " '", "LL", "12345"});
  }
  for (const char* name : {"qwen2", "deepseek-r1-qwen", "stablelm2"}) {
    CHECK(Split(name, "'LL12") == Strings{"'LL", "1", "2"});
  }
  for (const char* name : {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"}) {
    CHECK(Split(name, "'ll 'LL a12") == Strings{"'ll", " '", "LL", " a", "1", "2"});
  }
  // Llama 3's expression without its begin token and whole words.
  for (const char* name : {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}) {
    CHECK(Split(name, "12345") == Strings{"123", "45"});
    CHECK_FALSE(Pretokenizer::Create(name)->llama3_kind());
  }
  CHECK(Pretokenizer::Create("tekken")->llama3_kind());
}

TEST_CASE("Pretokenizer: gpt-4o cuts where case changes and keeps contractions with their word",
          "[tokenizer]") {
  for (const char* name : {"gpt-4o", "llama4"}) {
    CHECK(Split(name, "HelloWorld it's HTTPServer's 1234") ==
          Strings{"Hello", "World", " it's", " HTTPServer's", " ", "123", "4"});
    CHECK(Split(name, "日本ABCdef a/b\n/ x") == Strings{"日本ABCdef", " a", "/b", "\n", "/", " x"});
  }
  CHECK(Split("tekken", "HelloWorld it's 12") ==
        Strings{"Hello", "World", " it", "'s", " ", "1", "2"});
}

TEST_CASE("Pretokenizer: falcon and default cut marks out first and digits in threes",
          "[tokenizer]") {
  for (const char* name : {"falcon", "default"}) {
    CHECK(Split(name, "Hello, world!! 12345 a_b") ==
          Strings{"Hello", ",", " world", "!!", " ", "123", "45", " a", "_", "b"});
    // The marks are gone before contractions are looked for.
    CHECK(Split(name, "it's  x") == Strings{"it", "'", "s", " ", " x"});
  }
  CHECK(Split("falcon", "+` ") == Strings{"+`", " "});
  CHECK(Split("default", "+`") == Strings{"+", "`"});
}

TEST_CASE("Pretokenizer: deepseek-coder cuts line ends, words, marks, CJK and digits",
          "[tokenizer]") {
  CHECK(Split("deepseek-coder", "for i in x:\n\t y+=12") ==
        Strings{"for", " i", " in", " x", ":", "\n", "\t", " y", "+=", "1", "2"});
  CHECK(Split("deepseek-coder", "日本, 語") == Strings{"日本", ",", " ", "語"});
}

TEST_CASE("Pretokenizer: refuses an unknown rule by its name (B01)", "[tokenizer]") {
  for (const char* name : {"nosuch", "", "rwkv", "GPT-2"}) {
    const Status status = Pretokenizer::Create(name).status();
    CHECK(status.code() == StatusCode::kUnimplemented);
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
  for (const char* rule : {"gpt-2", "smollm", "qwen2", "llama-bpe", "qwen35", "tekken"}) {
    CHECK(Split(rule, "!\u180E!") == Strings{"!\u180E!"});
    CHECK(Split(rule, "!\u2028!").size() > 1);
  }
}

TEST_CASE("Pretokenizer: keeps bytes that are not UTF-8 as pieces of their own (B08)",
          "[tokenizer]") {
  for (const std::string& rule : EveryKind()) {
    CHECK(Split(rule, "\xE6\xAD") == Strings{"\xE6\xAD"});
    CHECK(Split(rule, "a\xFF\xFE b") == Strings{"a", "\xFF\xFE", " b"});
    CHECK(Split(rule, "a  \xFF") == Strings{"a", "  ", "\xFF"});
    const bool keeps_with_word = rule == "qwen2" || rule == "llama-bpe" || rule == "qwen35" ||
                                 rule == "deepseek-v3" || rule == "tekken" || rule == "gpt-4o";
    CHECK(Split(rule, std::string_view("x\0y", 3)) ==
          (keeps_with_word ? Strings{"x", std::string("\0y", 2)}
                           : Strings{"x", std::string(1, '\0'), "y"}));
  }
}

TEST_CASE("Pretokenizer: long runs need no more than linear work (B11)", "[tokenizer]") {
  // Split refuses with RESOURCE_EXHAUSTED when the engine takes more than a few steps a byte.
  constexpr size_t kCount = testing::kSanitized ? 4000 : 60000;
  for (const std::string& rule : EveryKind()) {
    for (const char* unit : {" ", "a", "7", "\n", " \n", "\u00A0", "\u3000", "🙂", "'", "'s",
                             "\t ", " a", "\r", "!\n", "\xFF", "é\xFF", "A", "ªA", "語"}) {
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
