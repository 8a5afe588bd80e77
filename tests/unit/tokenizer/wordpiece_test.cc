// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece.h"

#include "tests/support/sanitized.h"
#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using testing::Decode;
using testing::Encode;
using testing::MakeTokenizer;
using testing::WordPieceVocabulary;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

// As GGUF files spell the tokens of a BERT vocabulary.
std::string GgufSpelling(const std::string& token) {
  return token.starts_with("##") ? token.substr(2) : "▁" + token;
}

TEST_CASE("WordPiece: gives the ids of the tokenizers package", "[tokenizer]") {
  const nlohmann::json peer =
      testing::ReadJson(testing::TestDataPath("tokenizer_peers.json")).at("wordpiece");
  Strings tokens = peer.at("tokens").get<Strings>();
  tokens.erase(tokens.begin(), tokens.begin() + 5);
  for (std::string& token : tokens) token = GgufSpelling(token);
  const auto tokenizer = MakeTokenizer(WordPieceVocabulary(tokens));
  CHECK(tokenizer->RuleName() == "wordpiece");
  int checked = 0;
  for (const nlohmann::json& entry : peer.at("cases")) {
    const std::string text = entry.at(0).get<std::string>();
    INFO("'" << text << "'");
    CHECK(Encode(*tokenizer, text) == entry.at(1).get<Ids>());
    ++checked;
  }
  CHECK(checked == 150);
}

Strings Words(std::string_view text) {
  std::string words;
  std::vector<size_t> ends;
  SplitBertWords(text, &words, &ends);
  Strings result;
  size_t begin = 0;
  for (size_t end : ends) {
    result.push_back(words.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

TEST_CASE("WordPiece: splits at spaces, marks and CJK, in lower case without accents",
          "[tokenizer]") {
  CHECK(Words("Héllo, WORLD!  don't") == Strings{"hello", ",", "world", "!", "don", "'", "t"});
  CHECK(Words("a日本b") == Strings{"a", "日", "本", "b"});
  CHECK(Words("İ\u0301ß\u00adx") == Strings{"ißx"});
  CHECK(Words("각") == Strings{"\u1100\u1161\u11a8"});
  CHECK(Words(std::string_view("a\0b\tc\n", 6)) == Strings{"ab", "c"});
  CHECK(Words("a\xFF\xE6\xAD"
              "b") == Strings{"ab"});
  CHECK(Words("a\u037Eb") == Strings{"a", ";", "b"});
  CHECK(Words(" \u3000\u00a0") == Strings{});
}

TEST_CASE("WordPiece: puts the text between its two tokens and decodes words apart",
          "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(WordPieceVocabulary({"▁hello", "▁wor", "ld", "▁!"}));
  const Ids ids = Encode(*tokenizer, "Hello world!", false, true);
  CHECK(ids == Ids{2, 5, 6, 7, 8, 3});
  DecodeOptions options;
  options.skip_special = true;
  std::string text;
  MF_REQUIRE_OK(tokenizer->Decode(ids, options, &text));
  CHECK(text == "hello world !");
  CHECK(Encode(*tokenizer, "[SEP]hello", true) == Ids{3, 5});
  CHECK(Encode(*tokenizer, "", false, true) == Ids{2, 3});
}

TEST_CASE("WordPiece: a word that cannot be written is one unknown token", "[tokenizer]") {
  VocabularyData data = WordPieceVocabulary({"▁a", "a", "▁b"});
  const auto tokenizer = MakeTokenizer(data);
  CHECK(Encode(*tokenizer, "aa ab b" + std::string(1, ' ') + std::string(100, 'a')).size() ==
        2 + 1 + 1 + 100);
  CHECK(Encode(*tokenizer, "ab") == Ids{1});
  CHECK(Encode(*tokenizer, std::string(101, 'a')) == Ids{1});
  data.special(SpecialToken::kUnknown) = kNoSpecialId;
  Ids ids;
  CHECK(MakeTokenizer(data)->Encode("ab", false, false, &ids).code() ==
        StatusCode::kFailedPrecondition);
}

TEST_CASE("WordPiece: a megabyte of one thing takes linear work", "[tokenizer]") {
  constexpr size_t kBytes = testing::kSanitized ? 1 << 15 : 1 << 20;
  const auto tokenizer = MakeTokenizer(WordPieceVocabulary(
      {"▁a", "a", "aaaa", std::string(99, 'a') + "b", "▁7", "7", "▁🙂", "🙂"}));
  for (const char* unit :
       {"a", " ", "7", "🙂", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", "a.", "\xFF"}) {
    std::string text;
    while (text.size() < kBytes) text += unit;
    INFO("a megabyte of '" << unit << "'");
    EncodeStats stats;
    Ids ids;
    MF_REQUIRE_OK(tokenizer->Encode(text, false, false, &ids, &stats));
    // Each place of a word of at most 100 characters is the start of one walk at most that long.
    CHECK(stats.steps <= 101 * text.size());
    CHECK(stats.steps >= text.size());
  }
}

}  // namespace
}  // namespace minfer
