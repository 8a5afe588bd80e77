// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include "tests/support/test_data.h"
#include "tests/unit/tokenizer/test_vocabulary.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

using testing::ByteVocabulary;
using testing::MakeTokenizer;
using testing::SentencePieceVocabulary;

TEST_CASE("StreamingDetokenizer: never cuts a character", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2"));
  const std::string text = "aé日🙂\u00A0!";
  StreamingDetokenizer detokenizer(tokenizer.get(), {});
  std::string all;
  for (int32_t id : testing::Encode(*tokenizer, text)) {
    std::string part;
    MF_REQUIRE_OK(detokenizer.Add(id, &part));
    CHECK(ValidUtf8Prefix(part) == part.size());
    CHECK(detokenizer.held_bytes() <= 3);
    all += part;
  }
  CHECK(all == text);
  detokenizer.Finish(&all);
  CHECK(all == text);
}

TEST_CASE("StreamingDetokenizer: passes on what can be no character", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2"));
  StreamingDetokenizer detokenizer(tokenizer.get(), {});
  std::string text;
  MF_REQUIRE_OK(detokenizer.Add(0xFF, &text));
  CHECK(text == "\xFF");
  MF_REQUIRE_OK(detokenizer.Add(0xE6, &text));
  CHECK(text == "\xFF");
  CHECK(detokenizer.held_bytes() == 1);
  MF_REQUIRE_OK(detokenizer.Add('a', &text));  // so 0xE6 began nothing
  CHECK(text ==
        "\xFF\xE6"
        "a");
  MF_REQUIRE_OK(detokenizer.Add(0xF0, &text));
  MF_REQUIRE_OK(detokenizer.Add(0x9F, &text));
  CHECK(detokenizer.held_bytes() == 2);
  detokenizer.Finish(&text);
  CHECK(text ==
        "\xFF\xE6"
        "a\xF0\x9F");
  CHECK(detokenizer.held_bytes() == 0);
}

TEST_CASE("StreamingDetokenizer: any stream of tokens gives the bytes of its pieces (B25)",
          "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2"));
  testing::Random random(3);
  for (int round = 0; round < 300; ++round) {
    StreamingDetokenizer detokenizer(tokenizer.get(), {});
    std::string pieces;
    std::string text;
    for (int i = 0; i < 30; ++i) {
      const auto id = static_cast<int32_t>(random.Below(256));
      pieces += tokenizer->Piece(id);
      MF_REQUIRE_OK(detokenizer.Add(id, &text));
      CHECK(text == pieces.substr(0, text.size()));
      CHECK(text.size() + 3 >= pieces.size());
    }
    detokenizer.Finish(&text);
    CHECK(text == pieces);
  }
}

TEST_CASE("StreamingDetokenizer: an id past the vocabulary is an error (B14)", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("gpt-2"));
  StreamingDetokenizer detokenizer(tokenizer.get(), {});
  std::string text = "before";
  for (int32_t id : {-1, 256, INT32_MIN, INT32_MAX}) {
    CHECK(detokenizer.Add(id, &text).code() == StatusCode::kOutOfRange);
    CHECK(tokenizer->Piece(id).empty());
    CHECK_FALSE(tokenizer->Contains(id));
    CHECK_FALSE(tokenizer->IsEndOfGeneration(id));
  }
  CHECK(text == "before");
}

TEST_CASE("StreamingDetokenizer: leaves out special tokens when asked to", "[tokenizer]") {
  VocabularyData data = ByteVocabulary("gpt-2");
  const int32_t control = testing::AddToken(&data, "<|é|>", TokenType::kControl);
  const int32_t user = testing::AddToken(&data, "<tool>", TokenType::kUserDefined);
  const auto tokenizer = MakeTokenizer(data);
  CHECK(testing::Decode(*tokenizer, {'a', control, user, 'b'}) == "a<|é|><tool>b");
  DecodeOptions options;
  options.skip_special = true;
  std::string text;
  MF_REQUIRE_OK(tokenizer->Decode(std::vector<int32_t>{'a', control, user, 'b'}, options, &text));
  CHECK(text == "a<tool>b");
}

TEST_CASE("StreamingDetokenizer: a continued text keeps its first space", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(SentencePieceVocabulary({"▁a", "▁", "a"}));
  const std::vector<int32_t> ids = testing::Encode(*tokenizer, "a a");
  CHECK(testing::Decode(*tokenizer, ids) == "a a");
  DecodeOptions options;
  options.at_start = false;
  std::string text;
  MF_REQUIRE_OK(tokenizer->Decode(ids, options, &text));
  CHECK(text == " a a");
}

TEST_CASE("StreamingDetokenizer: decoding tidies no spaces up (B13)", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(ByteVocabulary("llama-bpe"));
  for (const char* text : {"hello !", " , . ? 's  n't ", "a  b\t\n"}) {
    CHECK(testing::Decode(*tokenizer, testing::Encode(*tokenizer, text)) == text);
  }
}

}  // namespace
}  // namespace minfer
