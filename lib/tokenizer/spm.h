// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// SentencePiece-style encoding: spaces become U+2581, and of all adjacent pairs whose joined text
// is a token the one with the highest score is joined first. Characters without a token become the
// tokens of their bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/vocabulary.h"

namespace minfer {

// Immutable once made. `vocabulary` must outlive it.
class SentencePieceEncoder {
 public:
  explicit SentencePieceEncoder(const Vocabulary* vocabulary) : vocabulary_(vocabulary) {}

  // Appends the tokens of `text`, which holds no special tokens, with a space before it if wanted.
  // FAILED_PRECONDITION when a byte has no token and the vocabulary no unknown one.
  Status Encode(std::string_view text, bool space_prefix, std::vector<int32_t>* ids,
                EncodeStats* stats) const;

 private:
  Status AppendBytes(std::string_view bytes, std::vector<int32_t>* ids) const;

  const Vocabulary* vocabulary_;
};

}  // namespace minfer
