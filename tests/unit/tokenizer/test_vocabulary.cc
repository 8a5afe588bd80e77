// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/tokenizer/test_vocabulary.h"

#include "base/str_cat.h"
#include "tests/support/test_data.h"
#include "tokenizer/byte_alphabet.h"

namespace minfer::testing {

std::string SpellBytes(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    const uint32_t character = ByteCharacter(static_cast<uint8_t>(c));
    if (character < 0x80) {
      text += static_cast<char>(character);
    } else {
      text += static_cast<char>(0xC0 | character >> 6);
      text += static_cast<char>(0x80 | (character & 0x3F));
    }
  }
  return text;
}

int32_t AddToken(VocabularyData* data, std::string_view text, TokenType type, float score) {
  data->tokens.Add(text);
  data->token_types.push_back(static_cast<int32_t>(type));
  data->scores.push_back(score);
  return static_cast<int32_t>(data->tokens.size() - 1);
}

VocabularyData ByteVocabulary(const std::string& pre, const Merges& merges) {
  VocabularyData data;
  data.model = "gpt2";
  data.pre = pre;
  for (int byte = 0; byte < 256; ++byte) {
    AddToken(&data, SpellBytes(std::string(1, static_cast<char>(byte))), TokenType::kNormal);
  }
  data.merges.emplace();
  for (const auto& [left_bytes, right_bytes] : merges) {
    const std::string left = SpellBytes(left_bytes);
    const std::string right = SpellBytes(right_bytes);
    data.merges->Add(left + " " + right);
    AddToken(&data, left + right, TokenType::kNormal);
  }
  return data;
}

VocabularyData SentencePieceVocabulary(const std::vector<std::string>& pieces) {
  VocabularyData data;
  data.model = "llama";
  AddToken(&data, "<unk>", TokenType::kUnknown);
  AddToken(&data, "<s>", TokenType::kControl);
  AddToken(&data, "</s>", TokenType::kControl);
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text =
        std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + std::string(">");
    AddToken(&data, text, TokenType::kByte);
  }
  float score = 0;
  for (const std::string& piece : pieces) AddToken(&data, piece, TokenType::kNormal, score -= 1);
  return data;
}

VocabularyData UnigramVocabulary(const std::vector<std::string>& pieces) {
  VocabularyData data = SentencePieceVocabulary(pieces);
  data.model = "t5";
  data.special(SpecialToken::kUnknown) = 0;
  data.special(SpecialToken::kPadding) = kNoSpecialId;
  data.special(SpecialToken::kEos) = 2;
  data.add_space_prefix = false;
  return data;
}

VocabularyData WordPieceVocabulary(const std::vector<std::string>& pieces) {
  VocabularyData data;
  data.model = "bert";
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    AddToken(&data, special, TokenType::kControl);
  }
  data.special(SpecialToken::kPadding) = 0;
  data.special(SpecialToken::kUnknown) = 1;
  data.special(SpecialToken::kBos) = 2;
  data.special(SpecialToken::kSeparator) = 3;
  data.special(SpecialToken::kMask) = 4;
  for (const std::string& piece : pieces) AddToken(&data, piece, TokenType::kNormal);
  return data;
}

std::unique_ptr<Tokenizer> MakeTokenizer(const VocabularyData& data) {
  auto tokenizer = Tokenizer::Create(data);
  MF_REQUIRE_OK(tokenizer);
  return *std::move(tokenizer);
}

std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special,
                            bool add_special) {
  std::vector<int32_t> ids;
  MF_REQUIRE_OK(tokenizer.Encode(text, add_special, parse_special, &ids));
  return ids;
}

std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  MF_REQUIRE_OK(tokenizer.Decode(ids, {}, &text));
  return text;
}

std::vector<std::string> Pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> pieces;
  for (int32_t id : ids) pieces.emplace_back(tokenizer.Piece(id));
  return pieces;
}

uint64_t Random::Below(uint64_t bound) {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t mixed = state_;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return (mixed ^ mixed >> 31) % bound;
}

std::string RandomText(Random* random, bool with_invalid) {
  static constexpr std::string_view kParts[] = {
      "Hello",  "world", " ",           "  ",   "\n",     "\r\n",       "\t",  "'s",
      "'LL",    "12",    "3456",        "x=1;", "日本語", "한국어",     "é",   "\u00a0",
      "\u3000", "🙂",  "👩‍👧", "½",    "<s>",    "<|im_end|>", "!!!", "_a"};
  std::string text;
  for (uint64_t i = 0, count = random->Below(24); i < count; ++i) {
    if (with_invalid && random->Below(4) == 0) {
      for (uint64_t j = 0, bytes = 1 + random->Below(4); j < bytes; ++j) {
        text += static_cast<char>(random->Below(256));
      }
    } else {
      text += kParts[random->Below(std::size(kParts))];
    }
  }
  return text;
}

}  // namespace minfer::testing
