// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <utility>

#include "base/str_cat.h"
#include "tokenizer/detokenizer.h"

namespace minfer {
namespace {

Status NoTokenizer() {
  return Status(StatusCode::kFailedPrecondition, Subsystem::kTokenizer,
                "the model has no tokenizer: feed and read tokens, not text")
      .WithName("tokenizer.ggml.model");
}

}  // namespace

StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Create(const VocabularyData& data) {
  std::vector<std::string> warnings;
  MF_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Create(data, &warnings));
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  const Vocabulary* kept = &tokenizer->vocabulary_;
  bool add_bos_default = false;
  switch (kept->kind()) {
    case VocabularyKind::kByteLevelBpe: {
      MF_ASSIGN_OR_RETURN(ByteLevelBpe bpe, ByteLevelBpe::Create(data, kept, &warnings));
      add_bos_default = bpe.pretokenizer().llama3_kind();
      tokenizer->bpe_ = std::move(bpe);
      break;
    }
    case VocabularyKind::kSentencePiece:
      tokenizer->sentence_piece_.emplace(kept);
      add_bos_default = true;
      break;
    case VocabularyKind::kUnigram: {
      MF_ASSIGN_OR_RETURN(UnigramEncoder unigram, UnigramEncoder::Create(data, kept));
      tokenizer->unigram_ = std::move(unigram);
      break;
    }
    case VocabularyKind::kWordPiece:
      tokenizer->word_piece_.emplace(kept);
      add_bos_default = true;
      break;
    case VocabularyKind::kNone:
      break;
  }
  tokenizer->add_bos_ = kept->AddBos(add_bos_default);
  tokenizer->add_eos_ = kept->AddEos();
  if (tokenizer->add_bos_ && kept->BeginToken() == kNoToken) {
    warnings.push_back("tokenizer.ggml.add_bos_token: there is no begin token to add");
    tokenizer->add_bos_ = false;
  }
  if (tokenizer->add_eos_ && kept->EndToken() == kNoToken) {
    warnings.push_back("tokenizer.ggml.add_eos_token: there is no end token to add");
    tokenizer->add_eos_ = false;
  }
  tokenizer->BuildMatchers();
  tokenizer->warnings_ = std::move(warnings);
  return tokenizer;
}

void Tokenizer::BuildMatchers() {
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    const TokenType type = vocabulary_.Type(id);
    const bool user_defined = type == TokenType::kUserDefined;
    if (user_defined) user_defined_.Add(vocabulary_.Text(id), id);
    if (user_defined || type == TokenType::kControl || type == TokenType::kUnknown) {
      all_special_.Add(vocabulary_.Text(id), id);
    }
  }
  user_defined_.Build();
  all_special_.Build();
}

std::string_view Tokenizer::RuleName() const {
  if (bpe_.has_value()) return bpe_->pretokenizer().rule_name();
  if (sentence_piece_.has_value()) return "sentencepiece";
  if (unigram_.has_value()) return "unigram";
  return word_piece_.has_value() ? "wordpiece" : "none";
}

Status Tokenizer::Encode(std::string_view text, const EncodeOptions& options,
                         std::vector<int32_t>* ids, EncodeStats* stats) const {
  const Range range = {text.size(), options.parse_special};
  return EncodeRanges(text, absl::MakeConstSpan(&range, 1), options, ids, stats);
}

Status Tokenizer::Encode(std::string_view text, bool add_special, bool parse_special,
                         std::vector<int32_t>* ids, EncodeStats* stats) const {
  EncodeOptions options;
  options.add_special = add_special;
  options.parse_special = parse_special;
  return Encode(text, options, ids, stats);
}

Status Tokenizer::EncodeSegments(absl::Span<const TextSegment> segments,
                                 const EncodeOptions& options, std::vector<int32_t>* ids,
                                 EncodeStats* stats) const {
  std::string text;
  std::vector<Range> ranges;
  for (const TextSegment& segment : segments) {
    if (segment.text.empty()) continue;
    text += segment.text;
    if (!ranges.empty() && ranges.back().parse_special == segment.parse_special) {
      ranges.back().end = text.size();
    } else {
      ranges.push_back({text.size(), segment.parse_special});
    }
  }
  return EncodeRanges(text, ranges, options, ids, stats);
}

StatusOr<size_t> Tokenizer::Count(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  MF_RETURN_IF_ERROR(Encode(text, options, &ids));
  return ids.size();
}

Status Tokenizer::EncodeRanges(std::string_view text, absl::Span<const Range> ranges,
                               const EncodeOptions& options, std::vector<int32_t>* ids,
                               EncodeStats* stats) const {
  ids->clear();
  if (!has_text()) return NoTokenizer();
  constexpr uint64_t kLongest = 0x7FFFFFFF;  // positions, escaped spaces included, fit 32 bits
  if (text.size() > kLongest) {
    return Status(StatusCode::kOutOfRange, Subsystem::kTokenizer,
                  StrCat("a text of ", text.size(), " bytes is too long to encode"))
        .WithBytes(text.size(), kLongest);
  }
  EncodeStats ignored;
  if (stats == nullptr) stats = &ignored;
  std::vector<SpecialMatcher::Match> cuts;
  size_t begin = 0;
  for (const Range& range : ranges) {
    const SpecialMatcher& matcher = range.parse_special ? all_special_ : user_defined_;
    matcher.Find(text.substr(begin, range.end - begin), begin, &cuts, &stats->steps);
    begin = range.end;
  }

  std::vector<int32_t> result;
  const int32_t bos = vocabulary_.BeginToken();
  const bool has_bos = !cuts.empty() && cuts.front().begin == 0 && cuts.front().id == bos;
  if (options.add_special && add_bos_ && !has_bos) result.push_back(bos);
  size_t position = 0;
  bool space_prefix = options.space_prefix && vocabulary_.AddSpacePrefix();
  for (const SpecialMatcher::Match& cut : cuts) {
    MF_RETURN_IF_ERROR(
        EncodePlain(text.substr(position, cut.begin - position), space_prefix, &result, stats));
    result.push_back(cut.id);
    position = cut.end;
    space_prefix = vocabulary_.AddSpacePrefix();
  }
  MF_RETURN_IF_ERROR(EncodePlain(text.substr(position), space_prefix, &result, stats));
  const int32_t eos = vocabulary_.EndToken();
  const bool has_eos = !cuts.empty() && cuts.back().end == text.size() && cuts.back().id == eos;
  if (options.add_special && add_eos_ && !has_eos) result.push_back(eos);
  *ids = std::move(result);
  return OkStatus();
}

Status Tokenizer::EncodePlain(std::string_view text, bool space_prefix, std::vector<int32_t>* ids,
                              EncodeStats* stats) const {
  if (text.empty()) return OkStatus();
  if (bpe_.has_value()) return bpe_->Encode(text, ids, stats);
  if (sentence_piece_.has_value()) {
    return sentence_piece_->Encode(text, space_prefix, ids, stats);
  }
  if (unigram_.has_value()) return unigram_->Encode(text, space_prefix, ids, stats);
  if (word_piece_.has_value()) return word_piece_->Encode(text, ids, stats);
  return NoTokenizer();
}

Status Tokenizer::Decode(absl::Span<const int32_t> ids, const DecodeOptions& options,
                         std::string* text) const {
  text->clear();
  StreamingDetokenizer detokenizer(this, options);
  std::string result;
  for (int32_t id : ids) MF_RETURN_IF_ERROR(detokenizer.Add(id, &result));
  detokenizer.Finish(&result);
  *text = std::move(result);
  return OkStatus();
}

}  // namespace minfer
