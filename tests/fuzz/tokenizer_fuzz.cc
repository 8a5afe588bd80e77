// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Encodes any bytes with each splitting rule over a vocabulary of bytes and a few merges: decoding
// gives the text back. And with the other kinds of vocabulary, whose text is normalised. Streamed
// or whole, the ids are of the vocabulary and decode to the same.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace {

using minfer::Tokenizer;

constexpr std::array<const char*, 12> kRules = {
    "smollm", "gpt-2",        "qwen2",          "llama-bpe",   "qwen35", "tekken",
    "gpt-4o", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "default"};

// The character that stands for a byte in a byte-level vocabulary, as UTF-8; all are below U+0800.
std::string Spelling(uint8_t byte) {
  const uint32_t character = minfer::ByteCharacter(byte);
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xC0 | (character >> 6)), static_cast<char>(0x80 | (character & 0x3F))};
}

std::unique_ptr<Tokenizer> MakeTokenizer(const char* rule) {
  minfer::VocabularyData data;
  data.model = "gpt2";
  data.pre = rule;
  minfer::StringList merges;
  for (int byte = 0; byte < 256; ++byte) {
    data.tokens.Add(Spelling(static_cast<uint8_t>(byte)));
    data.token_types.push_back(static_cast<int32_t>(minfer::TokenType::kNormal));
  }
  const auto merge = [&](const std::string& left, const std::string& right) {
    merges.Add(left + " " + right);
    data.tokens.Add(left + right);
    data.token_types.push_back(static_cast<int32_t>(minfer::TokenType::kNormal));
  };
  const std::string space = Spelling(' ');
  merge("t", "h");
  merge("th", "e");
  merge(space, "the");
  merge("a", "a");
  merge("aa", "aa");
  merge("1", "2");
  data.tokens.Add("<|end|>");
  data.token_types.push_back(static_cast<int32_t>(minfer::TokenType::kControl));
  data.special(minfer::SpecialToken::kEos) = 256 + 6;
  data.merges = merges;
  minfer::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Create(data);
  FUZZ_REQUIRE(tokenizer.ok());
  return *std::move(tokenizer);
}

// SentencePiece-style and unigram, with byte tokens, and WordPiece.
constexpr std::array<const char*, 3> kOtherKinds = {"llama", "t5", "bert"};

std::unique_ptr<Tokenizer> MakeOther(const std::string& model) {
  minfer::VocabularyData data;
  data.model = model;
  const auto add = [&data](const std::string& text, minfer::TokenType type) {
    data.scores.push_back(-static_cast<float>(data.tokens.size()));
    data.tokens.Add(text);
    data.token_types.push_back(static_cast<int32_t>(type));
  };
  if (model == "bert") {
    for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
      add(text, minfer::TokenType::kControl);
    }
    data.special(minfer::SpecialToken::kUnknown) = 1;
    data.special(minfer::SpecialToken::kBos) = 2;
    data.special(minfer::SpecialToken::kSeparator) = 3;
  } else {
    add("<unk>", minfer::TokenType::kUnknown);
    add("<s>", minfer::TokenType::kControl);
    add("</s>", minfer::TokenType::kControl);
    data.special(minfer::SpecialToken::kUnknown) = 0;
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; ++byte) {
      add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">",
          minfer::TokenType::kByte);
    }
  }
  for (const char* text : {"\u2581", "\u2581the", "t", "h", "e", "th", "he", "\u2581t", "aa", "a",
                           "aaaa", "1", "12", "\u00e9", "\u4e2d", "\u2581\u2581"}) {
    add(text, minfer::TokenType::kNormal);
  }
  minfer::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Create(data);
  FUZZ_REQUIRE(tokenizer.ok());
  return *std::move(tokenizer);
}

// `exact`: decoding gives the text back.
void CheckText(const Tokenizer& tokenizer, std::string_view text, bool parse_special, bool exact) {
  std::vector<int32_t> ids;
  minfer::EncodeOptions options;
  options.add_special = false;
  options.parse_special = parse_special;
  FUZZ_REQUIRE(tokenizer.Encode(text, options, &ids).ok());
  // Where a space is put before the text, and a character of three bytes stands for it.
  FUZZ_REQUIRE(ids.size() <= (exact ? text.size() : 3 * text.size() + 3));
  std::string decoded;
  FUZZ_REQUIRE(tokenizer.Decode(ids, minfer::DecodeOptions(), &decoded).ok());
  if (exact) FUZZ_REQUIRE(decoded == text);
  std::string streamed;
  minfer::StreamingDetokenizer stream(&tokenizer, minfer::DecodeOptions());
  for (const int32_t id : ids) {
    FUZZ_REQUIRE(tokenizer.Contains(id));
    FUZZ_REQUIRE(stream.Add(id, &streamed).ok());
    FUZZ_REQUIRE(stream.held_bytes() <= 3);
  }
  stream.Finish(&streamed);
  FUZZ_REQUIRE(streamed == decoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<std::unique_ptr<Tokenizer>, kRules.size()> kTokenizers = [] {
    std::array<std::unique_ptr<Tokenizer>, kRules.size()> made;
    for (size_t i = 0; i < kRules.size(); ++i) made[i] = MakeTokenizer(kRules[i]);
    return made;
  }();
  static const std::array<std::unique_ptr<Tokenizer>, kOtherKinds.size()> kOthers = [] {
    std::array<std::unique_ptr<Tokenizer>, kOtherKinds.size()> made;
    for (size_t i = 0; i < kOtherKinds.size(); ++i) made[i] = MakeOther(kOtherKinds[i]);
    return made;
  }();
  minfer::testing::FuzzInput input(data, size);
  const uint8_t choice = input.Take<uint8_t>();
  const bool parse_special = (choice & 0x80) != 0;
  const size_t which = (choice & 0x7F) % (kRules.size() + kOtherKinds.size());
  if (which < kRules.size()) {
    CheckText(*kTokenizers[which], input.Rest(), parse_special, /*exact=*/true);
  } else {
    CheckText(*kOthers[which - kRules.size()], input.Rest(), parse_special, /*exact=*/false);
  }
  return 0;
}
