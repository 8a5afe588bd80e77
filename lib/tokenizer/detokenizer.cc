// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include "base/str_cat.h"
#include "tokenizer/utf8.h"

namespace minfer {

Status StreamingDetokenizer::Add(int32_t id, std::string* text) {
  if (!tokenizer_->has_text()) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kTokenizer,
                  "the model has no tokenizer: feed and read tokens, not text")
        .WithName("tokenizer.ggml.model");
  }
  if (!tokenizer_->Contains(id)) {
    return Status(
               StatusCode::kOutOfRange, Subsystem::kTokenizer,
               StrCat("token ", id, " is not one of the vocabulary's ", tokenizer_->vocab_size()))
        .WithName(StrCat("token ", id));
  }
  const TokenAttributes attributes = tokenizer_->Attributes(id);
  std::string_view piece = tokenizer_->Piece(id);
  const bool spelled = attributes.special || attributes.type == TokenType::kUserDefined;
  const bool strip = strip_space_ && tokenizer_->vocabulary().AddSpacePrefix();
  if (strip && !spelled && piece.substr(0, 1) == " ") piece.remove_prefix(1);
  // Encoding puts its space before the text after a token that was cut out as well. The unknown
  // token is usually not cut out but stands for characters inside a text.
  strip_space_ = spelled && id != tokenizer_->Special(SpecialToken::kUnknown);
  if (attributes.special && options_.skip_special) return OkStatus();
  held_ += piece;
  const size_t whole = held_.size() - IncompleteUtf8Suffix(held_);
  text->append(held_, 0, whole);
  held_.erase(0, whole);
  return OkStatus();
}

void StreamingDetokenizer::Finish(std::string* text) {
  *text += held_;
  held_.clear();
}

}  // namespace minfer
