// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Finds the special tokens of a vocabulary in text, leftmost first and the longest of those that
// start at one place, in time that grows with the text alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/token_automaton.h"

namespace minfer {

// Immutable once built.
class SpecialMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    int32_t id;
  };

  // Of two tokens with one text the first added holds. Empty texts are never found.
  void Add(std::string_view text, int32_t id);
  // After the last Add.
  void Build() { reversed_.Build(); }
  // Appends the matches in `text`, in order and apart from each other, `offset` added to their
  // places. Adds the automaton's steps to `*steps`: at most two for each byte.
  void Find(std::string_view text, size_t offset, std::vector<Match>* matches,
            uint64_t* steps) const;

 private:
  // Of the reversed texts. Reading a text from its end, the state tells at each place which tokens
  // begin there.
  TokenAutomaton reversed_;
};

}  // namespace minfer
