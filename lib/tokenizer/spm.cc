// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/spm.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/str_cat.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Spaces written as the vocabulary writes them.
std::string Escape(std::string_view text, bool space_prefix) {
  std::string escaped;
  escaped.reserve(text.size() + kSpaceMark.size());
  if (space_prefix) escaped += kSpaceMark;
  for (char c : text) {
    if (c == ' ') {
      escaped += kSpaceMark;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Numbers in the opposite order of the scores: the highest score has the least rank. Never kNoRank,
// which only a NaN could give.
uint32_t RankOf(float score) {
  constexpr uint32_t kSign = 0x80000000u;
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 and 0 are one score
  return (bits & kSign) != 0 ? bits : ~(bits | kSign);
}

}  // namespace

Status SentencePieceEncoder::Encode(std::string_view text, bool space_prefix,
                                    std::vector<int32_t>* ids, EncodeStats* stats) const {
  if (text.empty()) return OkStatus();
  const std::string escaped = Escape(text, space_prefix);
  const std::string_view view = escaped;
  if (view.size() >= kNoRank) {
    return Status(StatusCode::kOutOfRange, Subsystem::kTokenizer,
                  StrCat("a text of ", text.size(), " bytes is too long to encode"));
  }
  // A position's symbol is the offset of its first character; positions are the characters.
  PairMerger merger;
  for (size_t offset = 0; offset < view.size();) {
    merger.Add(static_cast<uint32_t>(offset));
    offset += std::max<size_t>(1, Utf8CharacterLength(view.substr(offset)));
  }
  const auto symbol_text = [&](uint32_t begin, uint32_t end) {
    const size_t from = merger.Symbol(begin);
    const size_t to = end < merger.size() ? merger.Symbol(end) : view.size();
    return view.substr(from, to - from);
  };
  merger.Merge(
      [&](uint32_t left, uint32_t right) -> PairMerge {
        const std::string_view joined = symbol_text(left, merger.Next(right));
        if (joined.size() > vocabulary_->longest_plain_token()) return {kNoRank, 0};
        const int32_t id = vocabulary_->Find(joined);
        if (id == kNoToken) return {kNoRank, 0};
        return {RankOf(vocabulary_->Score(id)), merger.Symbol(left)};
      },
      stats);
  for (uint32_t p = 0; p < merger.size(); p = merger.Next(p)) {
    const std::string_view symbol = symbol_text(p, merger.Next(p));
    const int32_t id = vocabulary_->Find(symbol);
    if (id != kNoToken) {
      ids->push_back(id);
    } else {
      MF_RETURN_IF_ERROR(AppendBytes(symbol, ids));
    }
  }
  return OkStatus();
}

Status SentencePieceEncoder::AppendBytes(std::string_view bytes, std::vector<int32_t>* ids) const {
  const int32_t unknown = vocabulary_->Special(SpecialToken::kUnknown);
  const bool all = std::all_of(bytes.begin(), bytes.end(), [this](char c) {
    return vocabulary_->ByteToken(static_cast<uint8_t>(c)) != kNoToken;
  });
  if (all) {
    for (char c : bytes) ids->push_back(vocabulary_->ByteToken(static_cast<uint8_t>(c)));
    return OkStatus();
  }
  if (unknown == kNoToken) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kTokenizer,
                  StrCat("the vocabulary has neither a token for a character of ", bytes.size(),
                         " bytes, nor byte tokens, nor an unknown token"))
        .WithName("tokenizer.ggml.tokens");
  }
  ids->push_back(unknown);  // one for the whole character
  return OkStatus();
}

}  // namespace minfer
