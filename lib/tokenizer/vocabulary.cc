// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "base/str_cat.h"
#include "tokenizer/byte_alphabet.h"

namespace minfer {
namespace {

// SentencePiece writes a space as this character.
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

constexpr std::array<std::string_view, kSpecialTokenCount> kSpecialTokenKeys = {
    "tokenizer.ggml.bos_token_id",     "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
};

// Tokens of these texts end an answer whatever the file's ids say.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>",    "<|im_end|>", "<|end|>", "<|return|>", "<|call|>",        "<end_of_turn>",
    "<|endoftext|>", "<|eom_id|>", "<EOT>",   "_<EOT>",     "<|end_of_text|>", "<end_of_utterance>",
};

// Roles that end an answer.
constexpr SpecialToken kEndRoles[] = {
    SpecialToken::kEos,        SpecialToken::kEot,           SpecialToken::kEom,
    SpecialToken::kFimPadding, SpecialToken::kFimRepository, SpecialToken::kFimSeparator,
};

Status Invalid(std::string_view key, std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kTokenizer, std::move(message))
      .WithName(key);
}

StatusOr<VocabularyKind> KindOf(std::string_view model) {
  if (model == "gpt2") return VocabularyKind::kByteLevelBpe;
  if (model == "llama") return VocabularyKind::kSentencePiece;
  if (model == "t5") return VocabularyKind::kUnigram;
  if (model == "bert") return VocabularyKind::kWordPiece;
  if (model == "none") return VocabularyKind::kNone;
  return Status(StatusCode::kUnimplemented, Subsystem::kTokenizer,
                StrCat("tokenizer model '", model, "' is not supported (tokenizer.ggml.model)"))
      .WithName(model);
}

std::string WithSpaces(std::string_view text) {
  std::string spaced;
  while (!text.empty()) {
    const size_t mark = std::min(text.find(kSpaceMark), text.size());
    spaced += text.substr(0, mark);
    text.remove_prefix(mark);
    if (text.empty()) break;
    spaced += ' ';
    text.remove_prefix(kSpaceMark.size());
  }
  return spaced;
}

absl::string_view MapKey(std::string_view text) { return {text.data(), text.size()}; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that "<0xHH>" names, or -1 for any other text.
int ParseByteToken(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = HexDigit(text[3]);
  const int low = HexDigit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

std::string_view SpecialTokenKey(SpecialToken role) {
  return kSpecialTokenKeys[static_cast<size_t>(role)];
}

StatusOr<Vocabulary> Vocabulary::Create(const VocabularyData& data,
                                        std::vector<std::string>* warnings) {
  Vocabulary vocabulary;
  vocabulary.byte_tokens_.fill(kNoToken);
  vocabulary.special_.fill(kNoToken);
  MF_ASSIGN_OR_RETURN(vocabulary.kind_, KindOf(data.model));
  MF_RETURN_IF_ERROR(vocabulary.ReadTokens(data));
  MF_RETURN_IF_ERROR(vocabulary.ReadTypes(data, warnings));
  MF_RETURN_IF_ERROR(vocabulary.ReadScores(data, warnings));
  vocabulary.ReadSpecialIds(data, warnings);
  vocabulary.MakePieces(warnings);
  vocabulary.MarkEndOfGeneration(data, warnings);
  vocabulary.add_bos_ = data.add_bos;
  const bool word_piece = vocabulary.kind_ == VocabularyKind::kWordPiece;
  const bool unigram = vocabulary.kind_ == VocabularyKind::kUnigram;
  vocabulary.add_eos_ =
      word_piece ? data.add_separator.value_or(true) : data.add_eos.value_or(unigram);
  vocabulary.add_space_prefix_ =
      vocabulary.marks_spaces() && (word_piece || data.add_space_prefix.value_or(true));
  return vocabulary;
}

Status Vocabulary::ReadTokens(const VocabularyData& data) {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  if (data.tokens.empty() && kind_ != VocabularyKind::kNone) {
    return Invalid(kKey, "the token list is missing or empty");
  }
  if (data.tokens.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return Invalid(kKey, StrCat(data.tokens.size(), " tokens are more than ids can number"));
  }
  texts_ = data.tokens;
  return OkStatus();
}

Status Vocabulary::ReadTypes(const VocabularyData& data, std::vector<std::string>* warnings) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  types_.assign(texts_.size(), TokenType::kNormal);
  if (data.token_types.empty()) return OkStatus();
  if (data.token_types.size() != texts_.size()) {
    return Invalid(kKey,
                   StrCat(data.token_types.size(), " token types for ", texts_.size(), " tokens"));
  }
  size_t unknown = 0;
  for (size_t i = 0; i < texts_.size(); ++i) {
    const int32_t type = data.token_types[i];
    if (type >= 1 && type <= 6) {
      types_[i] = static_cast<TokenType>(type);
    } else {
      ++unknown;
    }
  }
  if (unknown > 0) {
    warnings->push_back(
        StrCat(kKey, ": ", unknown, " tokens have a type outside 1..6 and count as normal"));
  }
  return OkStatus();
}

Status Vocabulary::ReadScores(const VocabularyData& data, std::vector<std::string>* warnings) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  if (!has_scores()) return OkStatus();
  if (data.scores.size() != texts_.size()) {
    return Invalid(kKey, StrCat(data.scores.size(), " scores for ", texts_.size(), " tokens"));
  }
  scores_ = data.scores;
  size_t nans = 0;
  for (float& score : scores_) {
    if (!std::isnan(score)) continue;
    score = -std::numeric_limits<float>::infinity();
    ++nans;
  }
  if (nans > 0) {
    warnings->push_back(StrCat(kKey, ": ", nans, " scores are NaN and count as lowest"));
  }
  return OkStatus();
}

void Vocabulary::ReadSpecialIds(const VocabularyData& data, std::vector<std::string>* warnings) {
  // What files mean when they are silent. GPT-2's own ids, which byte-level BPE would have, mean
  // nothing in another vocabulary.
  using Default = std::pair<SpecialToken, int32_t>;
  constexpr Default kSentencePiece[] = {
      {SpecialToken::kUnknown, 0}, {SpecialToken::kBos, 1}, {SpecialToken::kEos, 2}};
  constexpr Default kUnigram[] = {
      {SpecialToken::kPadding, 0}, {SpecialToken::kEos, 1}, {SpecialToken::kUnknown, 2}};
  constexpr Default kWordPiece[] = {{SpecialToken::kPadding, 0},
                                    {SpecialToken::kUnknown, 100},
                                    {SpecialToken::kBos, 101},
                                    {SpecialToken::kSeparator, 102},
                                    {SpecialToken::kMask, 103}};
  absl::Span<const Default> defaults;
  if (kind_ == VocabularyKind::kSentencePiece) defaults = kSentencePiece;
  if (kind_ == VocabularyKind::kUnigram) defaults = kUnigram;
  if (kind_ == VocabularyKind::kWordPiece) defaults = kWordPiece;
  for (const auto& [role, id] : defaults) {
    if (id < size()) special_[static_cast<size_t>(role)] = id;
  }
  for (size_t role = 0; role < kSpecialTokenCount; ++role) {
    const std::optional<uint64_t>& id = data.special_ids[role];
    if (!id.has_value()) continue;
    special_[role] = kNoToken;
    if (*id < texts_.size()) {
      special_[role] = static_cast<int32_t>(*id);
    } else if (*id != kNoSpecialId) {
      warnings->push_back(StrCat(kSpecialTokenKeys[role], ": id ", *id,
                                 " is past the vocabulary of ", texts_.size(),
                                 " tokens and counts as none"));
    }
  }
}

std::string Vocabulary::MakePiece(int32_t id, bool* plain, int* malformed) {
  const std::string_view text = Text(id);
  const auto index = static_cast<size_t>(id);
  *plain = true;
  switch (types_[index]) {
    case TokenType::kControl:
    case TokenType::kUnknown:
    case TokenType::kUserDefined:
      *plain = false;
      return std::string(text);
    case TokenType::kByte:
      if (has_scores()) {
        const int byte = ParseByteToken(text);
        if (byte >= 0) {
          *plain = false;
          if (byte_tokens_[static_cast<size_t>(byte)] == kNoToken) {
            byte_tokens_[static_cast<size_t>(byte)] = id;
          }
          return std::string(1, static_cast<char>(byte));
        }
        ++*malformed;
        types_[index] = TokenType::kNormal;
      }
      break;
    case TokenType::kNormal:
    case TokenType::kUnused:
      break;
  }
  if (marks_spaces()) return WithSpaces(text);
  if (std::optional<std::string> bytes = DecodeByteCharacters(text)) return *std::move(bytes);
  *plain = false;  // no text is ever mapped to such characters
  return std::string(text);
}

void Vocabulary::MakePieces(std::vector<std::string>* warnings) {
  std::vector<bool> plain_tokens(texts_.size());
  int malformed = 0;
  for (int32_t id = 0; id < size(); ++id) {
    bool plain = false;
    pieces_.Add(MakePiece(id, &plain, &malformed));
    plain_tokens[static_cast<size_t>(id)] = plain;
  }
  if (malformed > 0) {
    warnings->push_back(StrCat("tokenizer.ggml.tokens: ", malformed,
                               " byte tokens are not of the form <0xHH> and count as text"));
  }
  if (kind_ == VocabularyKind::kNone) return;
  const StringList& keys = marks_spaces() ? texts_ : pieces_;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!plain_tokens[i] || keys[i].empty()) continue;
    plain_tokens_.try_emplace(MapKey(keys[i]),
                              static_cast<int32_t>(i));  // of two alike the first is it
    longest_plain_token_ = std::max(longest_plain_token_, keys[i].size());
  }
}

void Vocabulary::MarkEndOfGeneration(const VocabularyData& data,
                                     std::vector<std::string>* warnings) {
  end_of_generation_.assign(texts_.size(), false);
  size_t outside = 0;
  for (uint64_t id : data.end_ids) {
    if (id < texts_.size()) {
      end_of_generation_[id] = true;
    } else {
      ++outside;
    }
  }
  if (outside > 0) {
    warnings->push_back(StrCat("tokenizer.ggml.eos_token_ids: ", outside,
                               " ids are past the vocabulary and are ignored"));
  }
  bool has_return = false;
  bool has_call = false;
  for (size_t i = 0; i < texts_.size(); ++i) {
    has_return = has_return || texts_[i] == "<|return|>";
    has_call = has_call || texts_[i] == "<|call|>";
    for (std::string_view text : kEndTexts) {
      if (texts_[i] == text) end_of_generation_[i] = true;
    }
  }
  // Models with both of these end a part of their answer with <|end|> and go on.
  if (has_return && has_call) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i] == "<|end|>") end_of_generation_[i] = false;
    }
  }
  for (SpecialToken role : kEndRoles) {
    const int32_t id = Special(role);
    if (id == kNoToken) continue;
    if (has_return && has_call && Text(id) == "<|end|>") continue;
    end_of_generation_[static_cast<size_t>(id)] = true;
  }
}

std::string_view Vocabulary::Text(int32_t id) const {
  return Contains(id) ? texts_[static_cast<size_t>(id)] : std::string_view();
}

std::string_view Vocabulary::Piece(int32_t id) const {
  return Contains(id) ? pieces_[static_cast<size_t>(id)] : std::string_view();
}

TokenAttributes Vocabulary::Attributes(int32_t id) const {
  TokenAttributes attributes;
  if (!Contains(id)) return attributes;
  attributes.type = Type(id);
  attributes.special =
      attributes.type == TokenType::kControl || attributes.type == TokenType::kUnknown;
  attributes.end_of_generation = end_of_generation_[static_cast<size_t>(id)];
  return attributes;
}

int32_t Vocabulary::Find(std::string_view bytes) const {
  const auto it = plain_tokens_.find(MapKey(bytes));
  return it == plain_tokens_.end() ? kNoToken : it->second;
}

}  // namespace minfer
