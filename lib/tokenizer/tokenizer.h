// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Text to tokens and back, for one vocabulary. Made once a model; everything is const afterwards,
// so any number of threads may use it at once.
//
// Text is bytes of a given length. Bytes that are not UTF-8 are kept: they are encoded byte for
// byte and come back unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "tokenizer/bpe.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/spm.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/wordpiece.h"

namespace minfer {

struct EncodeOptions {
  // Begin and end tokens are added as the model wants. A begin token that the text itself starts
  // with (as a chat template's does) is not added a second time.
  bool add_special = true;
  // The texts of control and unknown tokens become those tokens. Off, they are plain text, so that
  // what a user writes cannot pose as a control token.
  bool parse_special = false;
  // A space before the text, in models that have that rule. Off for text that continues another.
  bool space_prefix = true;
};

// A part of a text. Only in the parts that a template wrote are control tokens parsed.
struct TextSegment {
  std::string_view text;
  bool parse_special = false;
};

struct DecodeOptions {
  // Control and unknown tokens give no text.
  bool skip_special = false;
  // The tokens begin a text, so that a space that encoding put before it is taken away again. Off
  // for tokens that continue a text, such as an answer after its prompt.
  bool at_start = true;
};

class Tokenizer {
 public:
  // Refuses a vocabulary that cannot be used. What was merely ignored is in warnings().
  static StatusOr<std::unique_ptr<Tokenizer>> Create(const VocabularyData& data);

  // Replaces `*ids` by the tokens of `text`; on failure it is empty. `stats` may be null and is
  // added to.
  Status Encode(std::string_view text, const EncodeOptions& options, std::vector<int32_t>* ids,
                EncodeStats* stats = nullptr) const;
  Status Encode(std::string_view text, bool add_special, bool parse_special,
                std::vector<int32_t>* ids, EncodeStats* stats = nullptr) const;

  // The same for the segments' texts one after the other. Plain text is encoded as one across the
  // borders of segments; a special token never crosses from one kind of segment to the other.
  // options.parse_special is not looked at.
  Status EncodeSegments(absl::Span<const TextSegment> segments, const EncodeOptions& options,
                        std::vector<int32_t>* ids, EncodeStats* stats = nullptr) const;

  // How many tokens Encode would give.
  StatusOr<size_t> Count(std::string_view text, const EncodeOptions& options) const;

  // Replaces `*text` by the bytes of the tokens. OUT_OF_RANGE, naming it, for an id past the
  // vocabulary.
  Status Decode(absl::Span<const int32_t> ids, const DecodeOptions& options,
                std::string* text) const;

  // The bytes that one token stands for, whatever is around it; empty past the vocabulary.
  std::string_view Piece(int32_t id) const { return vocabulary_.Piece(id); }
  TokenAttributes Attributes(int32_t id) const { return vocabulary_.Attributes(id); }
  bool IsEndOfGeneration(int32_t id) const { return Attributes(id).end_of_generation; }
  bool Contains(int32_t id) const { return vocabulary_.Contains(id); }

  // The token of a role, or kNoToken.
  int32_t Special(SpecialToken role) const { return vocabulary_.Special(role); }
  bool adds_bos() const { return add_bos_; }
  bool adds_eos() const { return add_eos_; }
  int32_t vocab_size() const { return vocabulary_.size(); }
  // False for a model without a tokenizer (kind "none"): Encode and Decode then return
  // FAILED_PRECONDITION.
  bool has_text() const { return vocabulary_.kind() != VocabularyKind::kNone; }
  // The splitting rule in use ("smollm"), "sentencepiece", "unigram", "wordpiece" or "none".
  std::string_view RuleName() const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Range {
    size_t end;
    bool parse_special;
  };

  explicit Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  void BuildMatchers();
  Status EncodeRanges(std::string_view text, absl::Span<const Range> ranges,
                      const EncodeOptions& options, std::vector<int32_t>* ids,
                      EncodeStats* stats) const;
  Status EncodePlain(std::string_view text, bool space_prefix, std::vector<int32_t>* ids,
                     EncodeStats* stats) const;

  Vocabulary vocabulary_;
  std::optional<ByteLevelBpe> bpe_;
  std::optional<SentencePieceEncoder> sentence_piece_;
  std::optional<UnigramEncoder> unigram_;
  std::optional<WordPieceEncoder> word_piece_;
  SpecialMatcher user_defined_;  // cut out of any text
  SpecialMatcher all_special_;   // cut out where special tokens are parsed
  bool add_bos_ = false;
  bool add_eos_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace minfer
