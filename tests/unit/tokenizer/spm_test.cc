// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/spm.h"

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
using testing::SentencePieceVocabulary;
using Strings = std::vector<std::string>;
using Ids = std::vector<int32_t>;

const Strings kPieces = {"▁a", "ab", "▁", "a", "b", "▁▁"};
constexpr int32_t kFirst = 259;  // of kPieces; 3 + byte before it

TEST_CASE("SentencePiece: joins the pair with the highest score, leftmost on a tie",
          "[tokenizer]") {
  VocabularyData data = SentencePieceVocabulary({"▁", "a", "b", "c"});
  const int32_t ab = testing::AddToken(&data, "ab", TokenType::kNormal, -10);
  const int32_t bc = testing::AddToken(&data, "bc", TokenType::kNormal, -9);
  const int32_t aa = testing::AddToken(&data, "aa", TokenType::kNormal, -9);
  data.add_space_prefix = false;
  const auto tokenizer = MakeTokenizer(data);
  CHECK(Encode(*tokenizer, "abc") == Ids{kFirst + 1, bc});
  CHECK(Encode(*tokenizer, "ab") == Ids{ab});
  CHECK(Encode(*tokenizer, "aaa") == Ids{aa, kFirst + 1});
  CHECK(Encode(*tokenizer, "aabc") == Ids{aa, bc});
}

TEST_CASE("SentencePiece: characters without a token become bytes (A53)", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(SentencePieceVocabulary(kPieces));
  CHECK(Encode(*tokenizer, "é") == Ids{kFirst + 2, 3 + 0xC3, 3 + 0xA9});
  CHECK(Encode(*tokenizer, "\xFF") == Ids{kFirst + 2, 3 + 0xFF});
  CHECK(Decode(*tokenizer, Encode(*tokenizer, "é\xFF\xE6\xAD")) == "é\xFF\xE6\xAD");
}

TEST_CASE("SentencePiece: malformed byte tokens are text, and unknown stands in (A53)",
          "[tokenizer]") {
  for (const char* bad : {"<0x-1>", "<0xZZ>", "<0x100>", "<", "", "<0x7>", "<0x07> "}) {
    VocabularyData data = SentencePieceVocabulary(kPieces);
    StringList tokens;
    for (size_t i = 0; i < data.tokens.size(); ++i) {
      tokens.Add(i == 10 ? std::string_view(bad) : data.tokens[i]);
    }
    data.tokens = tokens;
    const auto tokenizer = MakeTokenizer(data);
    REQUIRE(tokenizer->warnings().size() == 1);
    CHECK(tokenizer->Piece(10) == bad);
    CHECK(Encode(*tokenizer, "\x07") == Ids{kFirst + 2, 0});
  }
  VocabularyData data;
  data.model = "llama";
  testing::AddToken(&data, "a", TokenType::kNormal);
  data.special(SpecialToken::kUnknown) = 99;
  const auto tokenizer = MakeTokenizer(data);
  Ids ids;
  CHECK(tokenizer->Encode("b", false, false, &ids).code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("SentencePiece: encoding and decoding again adds no space (B16, B24)", "[tokenizer]") {
  const auto tokenizer = MakeTokenizer(SentencePieceVocabulary(kPieces));
  for (const char* text : {" a", "a", "", "  ", "ab a", "é"}) {
    std::string round = text;
    for (int i = 0; i < 3; ++i) {
      round = Decode(*tokenizer, Encode(*tokenizer, round));
      CHECK(round == text);
    }
  }
  CHECK(Encode(*tokenizer, "").empty());
  CHECK(Encode(*tokenizer, "", false, true) == Ids{1});
  CHECK(Pieces(*tokenizer, Encode(*tokenizer, "a")) == Strings{" a"});
  CHECK(Encode(*tokenizer, " ") == Ids{kFirst + 5});

  EncodeOptions infill;
  infill.add_special = false;
  infill.space_prefix = false;
  Ids ids;
  MF_REQUIRE_OK(tokenizer->Encode("a", infill, &ids));
  CHECK(ids == Ids{kFirst + 3});
}

TEST_CASE("SentencePiece: a cut-out token starts the space rule anew, both ways (B15, B16)",
          "[tokenizer]") {
  VocabularyData data = SentencePieceVocabulary(kPieces);
  auto tokenizer = MakeTokenizer(data);
  CHECK(Encode(*tokenizer, "</s>a", true) == Ids{2, kFirst});
  CHECK(Encode(*tokenizer, "a</s>a", true) == Ids{kFirst, 2, kFirst});
  CHECK(Decode(*tokenizer, Ids{kFirst, 2, kFirst}) == "a</s>a");
  data.add_space_prefix = false;
  tokenizer = MakeTokenizer(data);
  CHECK(Encode(*tokenizer, "</s>a", true) == Ids{2, kFirst + 3});
  CHECK(Decode(*tokenizer, Ids{2, kFirst}) == "</s> a");
}

TEST_CASE("SentencePiece: scores that are NaN or missing do not break the queue (A48)",
          "[tokenizer]") {
  VocabularyData data = SentencePieceVocabulary(kPieces);
  for (float& score : data.scores) score = std::numeric_limits<float>::quiet_NaN();
  const auto tokenizer = MakeTokenizer(data);
  CHECK(tokenizer->warnings().size() == 1);
  CHECK(Encode(*tokenizer, "ab") == Ids{kFirst, kFirst + 4});

  data.scores.resize(3);
  const Status status = Tokenizer::Create(data).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.name() == "tokenizer.ggml.scores");
}

TEST_CASE("SentencePiece: a megabyte of one thing takes at most n log n steps", "[tokenizer]") {
  constexpr size_t kBytes = testing::kSanitized ? 1 << 15 : 1 << 20;
  Strings pieces = {"▁", "a", "b", "7"};
  for (size_t size = 2; size <= 64; size *= 2) {
    pieces.push_back(std::string(size, 'a'));
    std::string blanks;
    for (size_t i = 0; i < size; ++i) blanks += "▁";
    pieces.push_back(blanks);
  }
  const auto tokenizer = MakeTokenizer(SentencePieceVocabulary(pieces));
  for (const char* unit : {"a", " ", "7", "🙂", "ab", "\xFF"}) {
    std::string text;
    while (text.size() < kBytes) text += unit;
    INFO("a megabyte of '" << unit << "'");
    EncodeStats stats;
    Ids ids;
    MF_REQUIRE_OK(tokenizer->Encode(text, false, false, &ids, &stats));
    const double n = static_cast<double>(text.size());
    CHECK(static_cast<double>(stats.steps) <= 4.0 * n * std::log2(n));
    CHECK(Decode(*tokenizer, ids) == text);
  }
}

}  // namespace
}  // namespace minfer
