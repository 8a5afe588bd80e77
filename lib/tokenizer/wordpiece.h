// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// WordPiece encoding as BERT's uncased models have it: text in lower case without accents is split
// into words, marks and CJK characters, and each of them is written with the longest token that
// fits, then the longest for the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/token_automaton.h"
#include "tokenizer/vocabulary.h"

namespace minfer {

// Appends to `words` the words of `text` one after the other and to `ends` where each ends. Control
// characters and bytes that are not UTF-8 are left out.
void SplitBertWords(std::string_view text, std::string* words, std::vector<size_t>* ends);

// Immutable once made. `vocabulary` must outlive it.
class WordPieceEncoder {
 public:
  explicit WordPieceEncoder(const Vocabulary* vocabulary);

  // Appends the tokens of `text`, which holds no special tokens. A word that cannot be written in
  // tokens is one unknown token; FAILED_PRECONDITION when there is none.
  Status Encode(std::string_view text, std::vector<int32_t>* ids, EncodeStats* stats) const;

 private:
  bool AppendWord(std::string_view word, std::vector<int32_t>* ids, EncodeStats* stats) const;

  const Vocabulary* vocabulary_;
  TokenAutomaton trie_;
  uint32_t word_start_;  // the trie's node of the mark that words begin with
};

}  // namespace minfer
