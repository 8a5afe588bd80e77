// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Small vocabularies that the tokenizer's tests share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace minfer::testing {

// The spelling of bytes in a byte-level vocabulary.
std::string SpellBytes(std::string_view bytes);

// Pairs of byte strings.
using Merges = std::vector<std::pair<std::string, std::string>>;

// Byte-level BPE with rule `pre`: token b is byte b, then a token and a merge for each of `merges`.
// No special ids.
VocabularyData ByteVocabulary(const std::string& pre, const Merges& merges = {});

// Appends a token; `type` is a number of TokenType.
int32_t AddToken(VocabularyData* data, std::string_view text, TokenType type, float score = 0);

// SentencePiece-style: <unk> <s> </s>, the 256 byte tokens from 3 on, then `pieces` with falling
// scores.
VocabularyData SentencePieceVocabulary(const std::vector<std::string>& pieces);

// The same tokens for unigram encoding, no space before the text.
VocabularyData UnigramVocabulary(const std::vector<std::string>& pieces);

// [PAD] [UNK] [CLS] [SEP] [MASK], then `pieces`, words beginning with U+2581.
VocabularyData WordPieceVocabulary(const std::vector<std::string>& pieces);

std::unique_ptr<Tokenizer> MakeTokenizer(const VocabularyData& data);

std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text,
                            bool parse_special = false, bool add_special = false);
std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids);
std::vector<std::string> Pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids);

// A fixed sequence of random numbers.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Less than `bound`.
  uint64_t Below(uint64_t bound);

 private:
  uint64_t state_;
};

// Text that mixes words, blanks, digits, scripts and, if wanted, bytes that are not UTF-8.
std::string RandomText(Random* random, bool with_invalid);

}  // namespace minfer::testing
