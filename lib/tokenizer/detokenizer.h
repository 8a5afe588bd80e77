// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Tokens to text while they are generated: what comes out never ends inside a UTF-8 character.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace minfer {

// One for each stream of tokens; the tokenizer must outlive it.
class StreamingDetokenizer {
 public:
  StreamingDetokenizer(const Tokenizer* tokenizer, const DecodeOptions& options)
      : tokenizer_(tokenizer), options_(options), strip_space_(options.at_start) {}

  // Appends to `text` what is whole after token `id`. A begun character is held back until its rest
  // comes; bytes that can become no character are passed on as they are. OUT_OF_RANGE for an id
  // past the vocabulary, FAILED_PRECONDITION for a model without a tokenizer; neither changes
  // anything.
  Status Add(int32_t id, std::string* text);
  // Appends what was held back. After it the stream goes on as if nothing had been held.
  void Finish(std::string* text);

  // Bytes held back, 0 to 3.
  size_t held_bytes() const { return held_.size(); }

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  bool strip_space_;  // the next token's first space is the encoder's
  std::string held_;
};

}  // namespace minfer
