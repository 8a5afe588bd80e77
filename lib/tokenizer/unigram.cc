// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
// What a character without a token costs beyond the worst token, as SentencePiece has it.
constexpr double kUnknownPenalty = 10.0;

}  // namespace

// The last token of the best path to a place.
struct UnigramEncoder::Step {
  double score = 0;
  uint32_t length = 0;    // bytes; 0 while no path reaches the place
  int32_t id = kNoToken;  // or kNoToken for a character without a token
};

StatusOr<UnigramEncoder> UnigramEncoder::Create(const VocabularyData& data,
                                                const Vocabulary* vocabulary) {
  UnigramEncoder encoder(vocabulary);
  MF_ASSIGN_OR_RETURN(encoder.characters_map_, CharactersMap::Create(data.characters_map));
  encoder.remove_extra_whitespaces_ = data.remove_extra_whitespaces.value_or(false);
  double lowest = 0;
  for (int32_t id = 0; id < vocabulary->size(); ++id) {
    // Unknown, control and byte tokens are reached by their own doors.
    if (vocabulary->Find(vocabulary->Text(id)) != id) continue;
    encoder.automaton_.Add(vocabulary->Text(id), id);
    lowest = std::min(lowest, double{vocabulary->Score(id)});
  }
  encoder.automaton_.Build();
  encoder.unknown_score_ = lowest - kUnknownPenalty;
  return encoder;
}

// The text as the vocabulary writes it.
StatusOr<std::string> UnigramEncoder::Normalize(std::string_view text, bool space_prefix,
                                                EncodeStats* stats) const {
  MF_ASSIGN_OR_RETURN(std::string mapped, characters_map_.Apply(text, &stats->steps));
  if (remove_extra_whitespaces_) {
    // No space at the ends, and one where there are several.
    std::string tidy;
    tidy.reserve(mapped.size());
    for (char c : mapped) {
      if (c != ' ' || (!tidy.empty() && tidy.back() != ' ')) tidy += c;
    }
    if (!tidy.empty() && tidy.back() == ' ') tidy.pop_back();
    mapped = std::move(tidy);
  }
  std::string marked;
  if (mapped.empty()) return marked;
  marked.reserve(mapped.size() + kSpaceMark.size());
  if (space_prefix) marked += kSpaceMark;
  for (char c : mapped) {
    if (c == ' ') {
      marked += kSpaceMark;
    } else {
      marked += c;
    }
  }
  return marked;
}

std::vector<UnigramEncoder::Step> UnigramEncoder::BestPath(std::string_view text,
                                                           EncodeStats* stats) const {
  std::vector<Step> best(text.size() + 1);
  uint32_t state = TokenAutomaton::kRoot;
  for (size_t begin = 0; begin < text.size();) {
    const size_t length = std::max<size_t>(1, Utf8CharacterLength(text.substr(begin)));
    const size_t end = begin + length;
    for (size_t i = begin; i < end; ++i) {
      state = automaton_.Step(state, static_cast<uint8_t>(text[i]), &stats->steps);
    }
    Step& here = best[end];
    const auto offer = [&](uint32_t bytes, double score, int32_t id) {
      const Step& before = best[end - bytes];
      ++stats->steps;
      // A token that starts inside of a character continues no path.
      if (bytes < end && before.length == 0) return;
      const double total = before.score + score;
      if (here.length == 0 || total > here.score) here = {total, bytes, id};
    };
    // The longest first, so that of two paths of one score the one with the longer token stays.
    bool has_character = false;
    automaton_.ForEachEnding(state, [&](const TokenAutomaton::Token& token) {
      has_character = has_character || token.length == length;
      offer(token.length, double{vocabulary_->Score(token.id)}, token.id);
    });
    if (!has_character) offer(static_cast<uint32_t>(length), unknown_score_, kNoToken);
    begin = end;
  }
  return best;
}

Status UnigramEncoder::Encode(std::string_view text, bool space_prefix, std::vector<int32_t>* ids,
                              EncodeStats* stats) const {
  MF_ASSIGN_OR_RETURN(const std::string normalized, Normalize(text, space_prefix, stats));
  if (normalized.size() >= UINT32_MAX) {
    return Status(StatusCode::kOutOfRange, Subsystem::kTokenizer,
                  StrCat("a text of ", text.size(), " bytes is too long to encode"));
  }
  ++stats->pieces;
  const std::vector<Step> best = BestPath(normalized, stats);
  std::vector<size_t> ends;
  for (size_t end = normalized.size(); end > 0; end -= best[end].length) ends.push_back(end);
  std::string_view unknown;
  const std::string_view view = normalized;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const Step& step = best[*end];
    if (step.id == kNoToken) {
      // Neighbours without a token are one unknown stretch.
      unknown = view.substr(*end - step.length - unknown.size(), unknown.size() + step.length);
      continue;
    }
    MF_RETURN_IF_ERROR(AppendUnknown(std::exchange(unknown, {}), ids));
    ids->push_back(step.id);
  }
  return AppendUnknown(unknown, ids);
}

Status UnigramEncoder::AppendUnknown(std::string_view bytes, std::vector<int32_t>* ids) const {
  if (bytes.empty()) return OkStatus();
  const bool all = std::all_of(bytes.begin(), bytes.end(), [this](char c) {
    return vocabulary_->ByteToken(static_cast<uint8_t>(c)) != kNoToken;
  });
  if (all) {
    for (char c : bytes) ids->push_back(vocabulary_->ByteToken(static_cast<uint8_t>(c)));
    return OkStatus();
  }
  const int32_t unknown = vocabulary_->Special(SpecialToken::kUnknown);
  if (unknown == kNoToken) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kTokenizer,
                  "the vocabulary has neither tokens for some characters nor an unknown token")
        .WithName("tokenizer.ggml.tokens");
  }
  ids->push_back(unknown);
  return OkStatus();
}

}  // namespace minfer
