// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Byte-level byte-pair encoding: text is split by the vocabulary's rule, and within a piece the
// pairs of the merge list are joined, those listed first before the others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash_map.h"
#include "base/status.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/string_list.h"
#include "tokenizer/vocabulary.h"

namespace minfer {

// Immutable once made. `vocabulary` must outlive it.
class ByteLevelBpe {
 public:
  static StatusOr<ByteLevelBpe> Create(const VocabularyData& data, const Vocabulary* vocabulary,
                                       std::vector<std::string>* warnings);

  const Pretokenizer& pretokenizer() const { return pretokenizer_; }

  // Appends the tokens of `text`, which holds no special tokens. A byte that the vocabulary has no
  // token for is left out before merging, as the tokenizers do that such vocabularies come from
  // (SmolLM2's lacks a few control characters), and counted in the statistics.
  Status Encode(std::string_view text, std::vector<int32_t>* ids, EncodeStats* stats) const;

 private:
  ByteLevelBpe(const Vocabulary* vocabulary, Pretokenizer pretokenizer)
      : vocabulary_(vocabulary), pretokenizer_(std::move(pretokenizer)) {}

  // Symbols are token ids, then those that only stand between two merges.
  using ExtraSymbols = HashMap<std::string, uint32_t>;
  uint32_t SymbolOf(const std::string& bytes, ExtraSymbols* extra);
  void ReadMerges(const StringList& merges, std::vector<std::string>* warnings);
  void EncodePiece(std::string_view piece, PairMerger* merger, std::vector<int32_t>* ids,
                   EncodeStats* stats) const;

  const Vocabulary* vocabulary_;
  Pretokenizer pretokenizer_;
  std::array<int32_t, 256> byte_tokens_;  // or kNoToken
  StringList extra_symbols_;              // the bytes of symbol vocabulary size + i
  HashMap<uint64_t, uint32_t> ranks_;     // of left symbol << 32 | right symbol
  std::vector<uint32_t> results_;         // the symbol that a rank's merge makes
};

}  // namespace minfer
