// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram.h"

#include <cmath>
#include <limits>

#include "tests/support/sanitized.h"
#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using testing::Decode;
using testing::Encode;
using testing::MakeTokenizer;
using testing::Pieces;
using testing::UnigramVocabulary;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

uint8_t HexByte(const std::string& hex, size_t index) {
  return static_cast<uint8_t>(std::stoi(hex.substr(2 * index, 2), nullptr, 16));
}

std::vector<uint8_t> FromHex(const std::string& hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = HexByte(hex, i);
  return bytes;
}

nlohmann::json Peer() {
  return testing::ReadJson(testing::TestDataPath("tokenizer_peers.json")).at("unigram");
}

VocabularyData PeerVocabulary(const nlohmann::json& peer) {
  VocabularyData data;
  data.model = "t5";
  for (const nlohmann::json& token : peer.at("tokens")) {
    const bool special = data.tokens.size() < 3;
    testing::AddToken(&data, token.at(0).get<std::string>(),
                      special ? TokenType::kControl : TokenType::kNormal, token.at(1).get<float>());
  }
  data.remove_extra_whitespaces = true;
  data.characters_map = FromHex(peer.at("characters_map").get<std::string>());
  return data;
}

TEST_CASE("Unigram: gives the ids of the tokenizers package", "[tokenizer]") {
  const nlohmann::json peer = Peer();
  const auto tokenizer = MakeTokenizer(PeerVocabulary(peer));
  CHECK(tokenizer->RuleName() == "unigram");
  CHECK(tokenizer->warnings().empty());
  int checked = 0;
  for (const nlohmann::json& entry : peer.at("cases")) {
    const std::string text = entry.at(0).get<std::string>();
    INFO("'" << text << "'");
    CHECK(Encode(*tokenizer, text) == entry.at(1).get<Ids>());
    ++checked;
  }
  CHECK(checked == 150);
}

TEST_CASE("Unigram: ends a text with the end token and has no begin token", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(PeerVocabulary(Peer()));
  CHECK(Encode(*tokenizer, "", false, true) == Ids{1});
  CHECK(tokenizer->Special(SpecialToken::kBos) == kNoToken);
  CHECK(tokenizer->IsEndOfGeneration(1));
  Ids ids = Encode(*tokenizer, "hello", false, true);
  CHECK(ids.back() == 1);
  ids.pop_back();
  CHECK(Decode(*tokenizer, ids) == "hello");
}

TEST_CASE("Unigram: takes the best sum, and the longer token on a tie", "[tokenizer]") {
  // Scores fall by one each: "ab" -1, "bc" -2, "a" -3, "c" -4, "b" -5.
  const auto tokenizer = MakeTokenizer(UnigramVocabulary({"ab", "bc", "a", "c", "b"}));
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "abc")) == Strings{"a", "bc"});  // -5, as ab c: -5
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "abcab")) == Strings{"a", "bc", "ab"});
}

TEST_CASE("Unigram: characters without a token become bytes, or one unknown token", "[tokenizer]") {
  VocabularyData data = UnigramVocabulary({"a", "▁"});
  const auto tokenizer = MakeTokenizer(data);
  for (const std::string text : {"a\xC3\xA9 a", "\xFF\xFE", "", " a", "👍👍a"}) {
    CHECK(Decode(*tokenizer, Encode(*tokenizer, text)) == text);
  }
  VocabularyData bare;
  bare.model = "t5";
  for (const char* text : {"<pad>", "</s>", "<unk>"}) {
    testing::AddToken(&bare, text, TokenType::kControl);
  }
  testing::AddToken(&bare, "a", TokenType::kNormal, -1);
  bare.add_space_prefix = false;
  CHECK(Encode(*MakeTokenizer(bare), "\u00e9\u00e9a\u00e9") == Ids{2, 3, 2});
  bare.special(SpecialToken::kUnknown) = kNoSpecialId;
  Ids ids;
  CHECK(MakeTokenizer(bare)->Encode("\u00e9", false, false, &ids).code() ==
        StatusCode::kFailedPrecondition);
}

TEST_CASE("Unigram: infinite scores and tokens that begin inside a character do no harm",
          "[tokenizer]") {
  VocabularyData data = UnigramVocabulary({"a", "b"});
  const float infinity = std::numeric_limits<float>::infinity();
  testing::AddToken(&data, "ab", TokenType::kNormal, -infinity);
  testing::AddToken(&data, "c", TokenType::kNormal, -infinity);
  testing::AddToken(&data, "d", TokenType::kNormal, infinity);
  testing::AddToken(&data, "\xA9z", TokenType::kNormal, 100);  // the second half of an e acute
  testing::AddToken(&data, "e", TokenType::kNormal, std::nanf(""));
  const auto tokenizer = MakeTokenizer(data);
  for (const std::string text : {"abcd", "dc", "\xC3\xA9z", "cccc", "eab"}) {
    CHECK(Decode(*tokenizer, Encode(*tokenizer, text)) == text);
  }
}

TEST_CASE("Unigram: refuses a map whose parts do not fit, and one that points outside",
          "[tokenizer]") {
  VocabularyData data = UnigramVocabulary({"a"});
  data.characters_map = {1, 2, 3};
  CHECK(Tokenizer::Create(data).status().name() == "tokenizer.ggml.precompiled_charsmap");
  data.characters_map = {8, 0, 0, 0, 0, 0, 0, 0};
  CHECK(Tokenizer::Create(data).status().code() == StatusCode::kInvalidArgument);
  // Every byte of a sound map changed: any answer or status, and nothing read outside of it.
  const std::vector<uint8_t> sound = FromHex(Peer().at("characters_map").get<std::string>());
  testing::Random random(3);
  for (size_t i = 4; i < sound.size(); ++i) {
    data.characters_map = sound;
    data.characters_map[i] = static_cast<uint8_t>(random.Below(256));
    auto tokenizer = Tokenizer::Create(data);
    if (!tokenizer.ok()) continue;
    Ids ids;
    const Status status = (*tokenizer)->Encode("ＡＢﬁ①½e\u0301Ⅷ\u3000", false, false, &ids);
    CHECK((status.ok() || status.code() == StatusCode::kInvalidArgument));
  }
}

TEST_CASE("Unigram: a megabyte of one thing takes linear work", "[tokenizer]") {
  constexpr size_t kBytes = testing::kSanitized ? 1 << 15 : 1 << 20;
  // One token far longer than any word must not be looked for at each place anew.
  const std::vector<std::string> pieces = {
      "a", "aa", "aaaa", "7", "▁", "▁▁", std::string(70000, 'a') + "b"};
  const auto tokenizer = MakeTokenizer(UnigramVocabulary(pieces));
  for (const char* unit : {"a", " ", "7", "🙂", "ab", "\xFF"}) {
    std::string text;
    while (text.size() < kBytes) text += unit;
    INFO("a megabyte of '" << unit << "'");
    EncodeStats stats;
    Ids ids;
    MF_REQUIRE_OK(tokenizer->Encode(text, false, false, &ids, &stats));
    // Two steps of each of two automata, and a few tokens that end at a place; a space is 3 bytes.
    CHECK(stats.steps <= 12 * text.size());
    CHECK(stats.steps >= text.size() / 2);
    CHECK(Decode(*tokenizer, ids) == text);
  }
}

}  // namespace
}  // namespace minfer
