// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Unigram encoding (T5's kind of SentencePiece): of all ways to write the text as tokens the one
// whose scores add up to the most, found by Viterbi's algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/characters_map.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/token_automaton.h"
#include "tokenizer/vocabulary.h"

namespace minfer {

// Immutable once made. `vocabulary` must outlive it.
class UnigramEncoder {
 public:
  static StatusOr<UnigramEncoder> Create(const VocabularyData& data, const Vocabulary* vocabulary);

  // Appends the tokens of `text`, which holds no special tokens, with a space before it if wanted.
  // Characters that no token has become their bytes' tokens where the vocabulary has those, and
  // otherwise one unknown token for each run of them; FAILED_PRECONDITION when it has neither.
  Status Encode(std::string_view text, bool space_prefix, std::vector<int32_t>* ids,
                EncodeStats* stats) const;

 private:
  explicit UnigramEncoder(const Vocabulary* vocabulary) : vocabulary_(vocabulary) {}
  struct Step;
  StatusOr<std::string> Normalize(std::string_view text, bool space_prefix,
                                  EncodeStats* stats) const;
  std::vector<Step> BestPath(std::string_view text, EncodeStats* stats) const;
  Status AppendUnknown(std::string_view bytes, std::vector<int32_t>* ids) const;

  const Vocabulary* vocabulary_;
  TokenAutomaton automaton_;
  CharactersMap characters_map_;
  bool remove_extra_whitespaces_ = false;
  double unknown_score_ = 0;
};

}  // namespace minfer
