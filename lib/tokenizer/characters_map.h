// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// tokenizer.ggml.precompiled_charsmap: what SentencePiece replaces in a text before encoding it
// (mostly NFKC with a few changes), as a double-array trie and the strings that it points to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer {

// Immutable once made. An empty one replaces nothing.
class CharactersMap {
 public:
  CharactersMap() = default;
  // INVALID_ARGUMENT when the parts do not fit the size. What the units say is checked when they
  // are used: nothing outside of the map is read.
  static StatusOr<CharactersMap> Create(const std::vector<uint8_t>& bytes);

  // `text` with the longest entry at each place replaced, from left to right; what no entry starts
  // with is copied character by character. INVALID_ARGUMENT for an entry that points outside.
  StatusOr<std::string> Apply(std::string_view text, uint64_t* steps) const;

 private:
  struct Entry {
    size_t length = 0;  // bytes of text that it replaces; 0 for none
    uint32_t replacement = 0;
  };
  Entry LongestAt(std::string_view text, uint64_t* steps) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero
};

}  // namespace minfer
