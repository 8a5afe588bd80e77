// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The vocabulary of a model: what a file says (VocabularyData), and the checked form of it that the
// encoders and decoders read (Vocabulary).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "tokenizer/string_list.h"

namespace minfer {

// The numbers are those of tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

enum class VocabularyKind { kNone, kByteLevelBpe, kSentencePiece, kUnigram, kWordPiece };

inline constexpr int32_t kNoToken = -1;
// How files write "no such token" where an id is to stand.
inline constexpr uint64_t kNoSpecialId = 0xFFFFFFFFu;

// Tokens with a role. The order is that of SpecialTokenKey.
enum class SpecialToken : int32_t {
  kBos,
  kEos,
  kEot,
  kEom,
  kUnknown,
  kSeparator,
  kPadding,
  kMask,
  kFimPrefix,
  kFimSuffix,
  kFimMiddle,
  kFimPadding,
  kFimRepository,
  kFimSeparator,
};
inline constexpr size_t kSpecialTokenCount = 14;

// The GGUF key that names the token of a role.
std::string_view SpecialTokenKey(SpecialToken role);

// A tokenizer as a file states it, nothing checked.
struct VocabularyData {
  std::string model;               // "gpt2", "llama", "t5", "bert", "none"
  std::optional<std::string> pre;  // name of the splitting rule
  StringList tokens;
  std::vector<float> scores;         // empty: none given
  std::vector<int32_t> token_types;  // empty: all normal
  std::optional<StringList> merges;
  std::array<std::optional<uint64_t>, kSpecialTokenCount> special_ids;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_separator;  // WordPiece: the end token is the separator
  std::optional<bool> add_space_prefix;
  std::optional<bool> remove_extra_whitespaces;  // unigram
  std::vector<uint8_t> characters_map;           // unigram; empty: none
  std::vector<uint64_t> end_ids;                 // tokens that end an answer beside those of a role

  std::optional<uint64_t>& special(SpecialToken role) {
    return special_ids[static_cast<size_t>(role)];
  }
};

struct TokenAttributes {
  TokenType type = TokenType::kNormal;
  bool special = false;            // control or unknown: no text of the user's
  bool end_of_generation = false;  // generation stops here
};

// Immutable once made, so any number of threads may read it.
class Vocabulary {
 public:
  // Refuses what cannot be used and adds a sentence to `warnings` for what is only ignored.
  static StatusOr<Vocabulary> Create(const VocabularyData& data,
                                     std::vector<std::string>* warnings);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  VocabularyKind kind() const { return kind_; }
  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  bool Contains(int32_t id) const { return id >= 0 && id < size(); }

  // The token as the file spells it, and the bytes that it stands for; empty past the vocabulary.
  std::string_view Text(int32_t id) const;
  std::string_view Piece(int32_t id) const;
  TokenAttributes Attributes(int32_t id) const;
  TokenType Type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  float Score(int32_t id) const { return scores_[static_cast<size_t>(id)]; }

  // The token that plain text with exactly these bytes may become, or kNoToken. Control, unknown
  // and user-defined tokens are not found here: text reaches those by their own door alone. Except
  // in byte-level BPE the bytes are those of the token's text, its U+2581 included.
  int32_t Find(std::string_view bytes) const;
  size_t longest_plain_token() const { return longest_plain_token_; }

  // The token of one byte in a SentencePiece or unigram vocabulary, or kNoToken.
  int32_t ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }

  // The token of a role, or kNoToken.
  int32_t Special(SpecialToken role) const { return special_[static_cast<size_t>(role)]; }

  // Whether text is encoded with a begin or end token around it when special tokens are added, and
  // with a space before it. `add_bos_default` is what the splitting rule wants without a flag.
  bool AddBos(bool add_bos_default) const { return add_bos_.value_or(add_bos_default); }
  bool AddEos() const { return add_eos_; }
  // The tokens that are added around a text.
  int32_t BeginToken() const { return Special(SpecialToken::kBos); }
  int32_t EndToken() const {
    return Special(kind_ == VocabularyKind::kWordPiece ? SpecialToken::kSeparator
                                                       : SpecialToken::kEos);
  }
  bool AddSpacePrefix() const { return add_space_prefix_; }

 private:
  Vocabulary() = default;
  Status ReadTokens(const VocabularyData& data);
  Status ReadTypes(const VocabularyData& data, std::vector<std::string>* warnings);
  Status ReadScores(const VocabularyData& data, std::vector<std::string>* warnings);
  void ReadSpecialIds(const VocabularyData& data, std::vector<std::string>* warnings);
  void MakePieces(std::vector<std::string>* warnings);
  // The bytes of token `id`, and through `plain` whether text may become it.
  std::string MakePiece(int32_t id, bool* plain, int* malformed);
  void MarkEndOfGeneration(const VocabularyData& data, std::vector<std::string>* warnings);
  // Spaces are written as U+2581 in the token's texts.
  bool marks_spaces() const {
    return kind_ == VocabularyKind::kSentencePiece || kind_ == VocabularyKind::kUnigram ||
           kind_ == VocabularyKind::kWordPiece;
  }
  bool has_scores() const {
    return kind_ == VocabularyKind::kSentencePiece || kind_ == VocabularyKind::kUnigram;
  }

  VocabularyKind kind_ = VocabularyKind::kNone;
  StringList texts_;
  StringList pieces_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  std::vector<bool> end_of_generation_;
  HashMap<absl::string_view, int32_t> plain_tokens_;  // views of texts_ or pieces_
  size_t longest_plain_token_ = 0;
  std::array<int32_t, 256> byte_tokens_;
  std::array<int32_t, kSpecialTokenCount> special_;
  std::optional<bool> add_bos_;
  bool add_eos_ = false;
  bool add_space_prefix_ = false;
};

}  // namespace minfer
