// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/tokenizer.h"

#include <string>
#include <vector>

#include "base/str_cat.h"
#include "capi/calls.h"
#include "capi/encode_flags.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "tokenizer/tokenizer.h"

namespace capi = minfer::capi;
using minfer::DecodeOptions;
using minfer::OkStatus;
using minfer::SpecialToken;
using minfer::Status;
using minfer::StatusOr;
using minfer::Tokenizer;
using minfer::TokenType;

namespace {

static_assert(MF_SPECIAL_BOS == static_cast<int>(SpecialToken::kBos) + 1 &&
              MF_SPECIAL_UNKNOWN == static_cast<int>(SpecialToken::kUnknown) + 1 &&
              MF_SPECIAL_FIM_SEPARATOR == static_cast<int>(SpecialToken::kFimSeparator) + 1);
static_assert(MF_SPECIAL_FIM_SEPARATOR == minfer::kSpecialTokenCount);

StatusOr<DecodeOptions> ReadDecodeFlags(uint32_t flags) {
  if ((flags & ~uint32_t{MF_DECODE_SPECIAL | MF_DECODE_CONTINUE}) != 0) {
    return capi::InvalidArgument("flags", minfer::StrCat("unknown flag in ", flags));
  }
  DecodeOptions options;
  options.skip_special = (flags & MF_DECODE_SPECIAL) == 0;
  options.at_start = (flags & MF_DECODE_CONTINUE) == 0;
  return options;
}

Status CheckTokens(const Tokenizer& tokenizer, const mf_token* tokens, size_t n_tokens) {
  if (tokens == nullptr && n_tokens != 0) return capi::NullArgument("tokens");
  for (size_t i = 0; i < n_tokens; ++i) {
    if (tokenizer.Contains(tokens[i])) continue;
    return capi::InvalidArgument(
        "tokens", minfer::StrCat("token ", i, " is ", tokens[i], ", the vocabulary has ",
                                 tokenizer.vocab_size()));
  }
  return OkStatus();
}

StatusOr<std::vector<mf_token>> Encode(const minfer::Model& model, const char* text, size_t length,
                                       uint32_t flags) {
  MF_ASSIGN_OR_RETURN(const minfer::EncodeOptions options, capi::ReadEncodeFlags(flags));
  MF_ASSIGN_OR_RETURN(const std::string_view view, capi::TextOf(text, length, "text"));
  MF_RETURN_IF_ERROR(model.tokenizer_status());
  std::vector<mf_token> tokens;
  MF_RETURN_IF_ERROR(model.tokenizer().Encode(view, options, &tokens));
  return tokens;
}

uint32_t BitOf(TokenType type) {
  switch (type) {
    case TokenType::kNormal:
      return MF_TOKEN_NORMAL;
    case TokenType::kUnknown:
      return MF_TOKEN_UNKNOWN;
    case TokenType::kControl:
      return MF_TOKEN_CONTROL;
    case TokenType::kUserDefined:
      return MF_TOKEN_USER_DEFINED;
    case TokenType::kUnused:
      return MF_TOKEN_UNUSED;
    case TokenType::kByte:
      return MF_TOKEN_BYTE;
  }
  return 0;
}

// For getters, which look at what never changes and so need no gate.
const Tokenizer& TokenizerOf(const mf_model* model) { return model->state->model->tokenizer(); }

}  // namespace

mf_status mf_tokenizer_count(const mf_model* model, const char* text, size_t length, uint32_t flags,
                             size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    if (out_count == nullptr) return capi::NullArgument("out_count");
    MF_ASSIGN_OR_RETURN(const auto tokens, Encode(call.model(), text, length, flags));
    *out_count = tokens.size();
    return OkStatus();
  });
}

mf_status mf_tokenizer_encode(const mf_model* model, const char* text, size_t length,
                              uint32_t flags, mf_token* out_tokens, size_t capacity,
                              size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_tokens, capacity, out_count, "out_tokens"));
    MF_ASSIGN_OR_RETURN(const auto tokens, Encode(call.model(), text, length, flags));
    return capi::WriteBuffer<mf_token>(tokens, out_tokens, capacity, out_count);
  });
}

mf_status mf_tokenizer_decode(const mf_model* model, const mf_token* tokens, size_t n_tokens,
                              uint32_t flags, char* out_text, size_t capacity, size_t* out_length,
                              mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_text, capacity, out_length, "out_text"));
    MF_ASSIGN_OR_RETURN(const DecodeOptions options, ReadDecodeFlags(flags));
    const Tokenizer& tokenizer = call.model().tokenizer();
    MF_RETURN_IF_ERROR(CheckTokens(tokenizer, tokens, n_tokens));
    std::string text;
    MF_RETURN_IF_ERROR(tokenizer.Decode({tokens, n_tokens}, options, &text));
    return capi::WriteBuffer<char>(text, out_text, capacity, out_length);
  });
}

mf_status mf_tokenizer_piece(const mf_model* model, mf_token token, uint32_t flags, char* out_text,
                             size_t capacity, size_t* out_length, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_text, capacity, out_length, "out_text"));
    MF_ASSIGN_OR_RETURN(const DecodeOptions options, ReadDecodeFlags(flags));
    const Tokenizer& tokenizer = call.model().tokenizer();
    MF_RETURN_IF_ERROR(CheckTokens(tokenizer, &token, 1));
    const bool hidden = options.skip_special && tokenizer.Attributes(token).special;
    const std::string_view piece = hidden ? std::string_view() : tokenizer.Piece(token);
    return capi::WriteBuffer<char>(absl::MakeConstSpan(piece.data(), piece.size()), out_text,
                                   capacity, out_length);
  });
}

uint32_t mf_tokenizer_attributes(const mf_model* model, mf_token token) {
  if (model == nullptr || !TokenizerOf(model).Contains(token)) return 0;
  const minfer::TokenAttributes attributes = TokenizerOf(model).Attributes(token);
  return BitOf(attributes.type) | (attributes.end_of_generation ? uint32_t{MF_TOKEN_END} : 0);
}

mf_token mf_tokenizer_special(const mf_model* model, mf_special special) {
  if (model == nullptr || special < MF_SPECIAL_BOS || special > MF_SPECIAL_FIM_SEPARATOR) {
    return MF_TOKEN_NONE;
  }
  return TokenizerOf(model).Special(static_cast<SpecialToken>(special - 1));
}

size_t mf_tokenizer_size(const mf_model* model) {
  return model == nullptr ? 0 : static_cast<size_t>(TokenizerOf(model).vocab_size());
}

int32_t mf_tokenizer_is_eog(const mf_model* model, mf_token token) {
  if (model == nullptr || !TokenizerOf(model).Contains(token)) return 0;
  return TokenizerOf(model).IsEndOfGeneration(token) ? 1 : 0;
}
