// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe.h"

#include <cmath>

#include "base/str_cat.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using testing::ByteVocabulary;
using testing::Encode;
using testing::MakeTokenizer;
using testing::Pieces;
using Strings = std::vector<std::string>;
using Ids = std::vector<int32_t>;

TEST_CASE("ByteLevelBpe: merges the lowest rank first, leftmost on a tie", "[tokenizer]") {
  const auto tokenizer =
      MakeTokenizer(ByteVocabulary("gpt-2", {{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}}));
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "abc")) == Strings{"a", "bc"});
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "abd")) == Strings{"ab", "d"});
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "aaa")) == Strings{"aaa"});
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "aaaaa")) == Strings{"aa", "aaa"});
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "")).empty());
}

TEST_CASE("ByteLevelBpe: a rule of the Llama 3 kind takes a whole token unmerged (B05)",
          "[tokenizer]") {
  for (const char* rule : {"llama-bpe", "gpt-2"}) {
    VocabularyData data = ByteVocabulary(rule, {{"a", "b"}});
    const int32_t whole = testing::AddToken(&data, "abc", TokenType::kNormal);
    const auto tokenizer = MakeTokenizer(data);
    if (tokenizer->RuleName() == "gpt-2") {
      CHECK(Pieces(*tokenizer, Encode(*tokenizer, "abc")) == Strings{"ab", "c"});
    } else {
      CHECK(Encode(*tokenizer, "abc") == Ids{whole});
    }
  }
}

TEST_CASE("ByteLevelBpe: refuses a vocabulary without merges or with an unknown rule (A56, B01)",
          "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  data.merges.reset();
  Status status = Tokenizer::Create(data).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.name() == "tokenizer.ggml.merges");

  status = Tokenizer::Create(ByteVocabulary("nosuch")).status();
  CHECK(status.code() == StatusCode::kUnimplemented);
  CHECK(status.name() == "nosuch");
}

TEST_CASE("ByteLevelBpe: without a rule's name the default splits, with a warning (B01)",
          "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  data.pre.reset();
  const auto tokenizer = testing::MakeTokenizer(data);
  CHECK(tokenizer->RuleName() == "default");
  REQUIRE(tokenizer->warnings().size() == 1);
  CHECK(tokenizer->warnings()[0].starts_with("tokenizer.ggml.pre: "));
}

TEST_CASE("ByteLevelBpe: ignores malformed merges with a warning (A56)", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2", {{"a", "b"}});
  for (const char* merge : {"ab", "", " ", "  a", "a ", "c  d", "日 a", "\xFF a"}) {
    data.merges->Add(merge);
  }
  const auto tokenizer = MakeTokenizer(data);
  REQUIRE(tokenizer->warnings().size() == 1);
  CHECK(tokenizer->warnings()[0].find("8 entries") != std::string::npos);
  const std::string text = "ab  a cd";
  CHECK(testing::Decode(*tokenizer, Encode(*tokenizer, text)) == text);
}

TEST_CASE("ByteLevelBpe: a merge whose result is no token comes back as bytes (A56)",
          "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  data.merges->Add("c d");
  data.merges->Add("cd e");
  data.merges->Add("cde f");
  const int32_t whole = testing::AddToken(&data, "cdef", TokenType::kNormal);
  const auto tokenizer = MakeTokenizer(data);
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "cde")) == Strings{"c", "d", "e"});
  CHECK(Encode(*tokenizer, "cdef") == Ids{whole});
}

TEST_CASE("ByteLevelBpe: a byte without a token is left out before merging and counted (A54)",
          "[tokenizer]") {
  VocabularyData data;
  data.model = "gpt2";
  data.pre = "gpt-2";
  data.merges.emplace();
  data.merges->Add("a b");
  data.merges->Add("z h");
  for (const char* text : {"a", "b", "c", "d", "e", "f", "g", "h", "ab", "zh"}) {
    data.tokens.Add(text);
  }
  data.special(SpecialToken::kUnknown) = 3;
  const auto tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
  CHECK(tokenizer->Special(SpecialToken::kEos) == kNoToken);
  Ids ids;
  EncodeStats stats;
  MF_REQUIRE_OK(tokenizer->Encode("azb zh", false, false, &ids, &stats));
  CHECK(ids == Ids{8, 7});
  CHECK(stats.dropped_bytes == 3);
}

// Merges that make every power of two of `unit` a token, up to `longest` bytes.
testing::Merges Doublings(std::string unit, size_t longest) {
  testing::Merges merges;
  for (size_t i = 1; i < unit.size(); ++i) {
    merges.emplace_back(unit.substr(0, i), unit.substr(i, 1));
  }
  while (unit.size() < longest) {
    merges.emplace_back(unit, unit);
    unit += unit;
  }
  return merges;
}

// Less under a sanitizer, which looks for other faults than this one.
constexpr size_t kLongText = testing::kSanitized ? 1 << 15 : 1 << 20;

void CheckLongText(const std::string& rule, const std::string& unit, size_t longest) {
  // Three queue entries a byte go in and out, each with at most 2 log2 comparisons; two thirds of
  // that bound leave no room for other growth.
  constexpr double kStepsPerByteAndLog = 4.0;
  const auto tokenizer = MakeTokenizer(ByteVocabulary(rule, Doublings(unit, longest)));
  std::string text;
  while (text.size() < kLongText) text += unit;
  INFO(rule << " on a long text of '" << unit << "', tokens up to " << longest);
  EncodeStats stats;
  Ids ids;
  MF_REQUIRE_OK(tokenizer->Encode(text, false, false, &ids, &stats));
  const double n = static_cast<double>(text.size());
  CHECK(static_cast<double>(stats.steps) <= kStepsPerByteAndLog * n * std::log2(n));
  CHECK(stats.steps >= text.size() / 2);  // the count is of something
  CHECK(stats.merges < text.size());
  CHECK(testing::Decode(*tokenizer, ids) == text);
}

TEST_CASE("ByteLevelBpe: a megabyte of one thing takes at most n log n steps", "[tokenizer]") {
  for (const char* unit : {"a", " ", "\u00A0", "7", "🙂", "\xFF", "ab"}) {
    CheckLongText("gpt-2", unit, 64);
    CheckLongText("qwen2", unit, 1);
  }
  for (const char* rule : {"smollm", "llama-bpe"}) {
    for (const char* unit : {"a", " ", "7", "🙂"}) CheckLongText(rule, unit, 64);
  }
  CheckLongText("gpt-2", "a", kLongText);
  CheckLongText("gpt-2", " ", kLongText);
}

TEST_CASE("ByteLevelBpe: steps grow with the text, not with its square", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2", Doublings("a", 1 << 16)));
  uint64_t previous = 0;
  for (size_t size = 1 << 12; size <= 1 << 18; size *= 2) {
    EncodeStats stats;
    Ids ids;
    MF_REQUIRE_OK(tokenizer->Encode(std::string(size, 'a'), false, false, &ids, &stats));
    if (previous > 0) CHECK(stats.steps < previous * 5 / 2);
    previous = stats.steps;
  }
}

}  // namespace
}  // namespace minfer
