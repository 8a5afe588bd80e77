// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe.h"

#include <optional>
#include <utility>

#include "base/str_cat.h"
#include "tokenizer/byte_alphabet.h"

namespace minfer {
namespace {

uint64_t PairKey(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

}  // namespace

StatusOr<ByteLevelBpe> ByteLevelBpe::Create(const VocabularyData& data,
                                            const Vocabulary* vocabulary,
                                            std::vector<std::string>* warnings) {
  constexpr std::string_view kDefaultRule = "default";
  if (!data.pre.has_value()) {
    warnings->push_back(
        StrCat("tokenizer.ggml.pre: the name of the splitting rule is missing, so that text may be "
               "split wrongly; '",
               kDefaultRule, "' is used"));
  }
  if (!data.merges.has_value()) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kTokenizer,
                  "the merge list of a byte-level BPE vocabulary is missing")
        .WithName("tokenizer.ggml.merges");
  }
  MF_ASSIGN_OR_RETURN(Pretokenizer pretokenizer,
                      Pretokenizer::Create(data.pre.value_or(std::string(kDefaultRule))));
  ByteLevelBpe bpe(vocabulary, std::move(pretokenizer));
  for (size_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    bpe.byte_tokens_[byte] = vocabulary->Find(std::string_view(&c, 1));
  }
  bpe.ReadMerges(*data.merges, warnings);
  return bpe;
}

uint32_t ByteLevelBpe::SymbolOf(const std::string& bytes, ExtraSymbols* extra) {
  const int32_t id = vocabulary_->Find(bytes);
  if (id != kNoToken) return static_cast<uint32_t>(id);
  const auto next = static_cast<uint32_t>(static_cast<size_t>(vocabulary_->size()) + extra->size());
  const auto [it, added] = extra->try_emplace(bytes, next);
  if (added) extra_symbols_.Add(bytes);
  return it->second;
}

void ByteLevelBpe::ReadMerges(const StringList& merges, std::vector<std::string>* warnings) {
  ExtraSymbols extra;
  size_t malformed = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ', 1);
    std::optional<std::string> left;
    std::optional<std::string> right;
    if (space != std::string_view::npos) {
      left = DecodeByteCharacters(merge.substr(0, space));
      right = DecodeByteCharacters(merge.substr(space + 1));
    }
    // A part with a character outside the alphabet can meet no text.
    if (!left.has_value() || !right.has_value() || left->empty() || right->empty()) {
      ++malformed;
      continue;
    }
    const uint64_t key = PairKey(SymbolOf(*left, &extra), SymbolOf(*right, &extra));
    const auto rank = static_cast<uint32_t>(results_.size());
    if (!ranks_.try_emplace(key, rank).second) continue;  // the first of two alike holds
    results_.push_back(SymbolOf(*left + *right, &extra));
  }
  if (malformed > 0) {
    warnings->push_back(StrCat("tokenizer.ggml.merges: ", malformed,
                               " entries are not two words of the byte alphabet and are "
                               "ignored"));
  }
}

Status ByteLevelBpe::Encode(std::string_view text, std::vector<int32_t>* ids,
                            EncodeStats* stats) const {
  std::vector<size_t> ends;
  MF_RETURN_IF_ERROR(pretokenizer_.Split(text, &ends));
  PairMerger merger;
  size_t begin = 0;
  for (size_t end : ends) {
    EncodePiece(text.substr(begin, end - begin), &merger, ids, stats);
    begin = end;
  }
  return OkStatus();
}

void ByteLevelBpe::EncodePiece(std::string_view piece, PairMerger* merger,
                               std::vector<int32_t>* ids, EncodeStats* stats) const {
  if (pretokenizer_.llama3_kind() && piece.size() <= vocabulary_->longest_plain_token()) {
    stats->steps += piece.size();
    const int32_t id = vocabulary_->Find(piece);
    if (id != kNoToken) {
      ++stats->pieces;
      ids->push_back(id);
      return;
    }
  }
  merger->Clear();
  for (char c : piece) {
    const int32_t id = byte_tokens_[static_cast<uint8_t>(c)];
    if (id != kNoToken) {
      merger->Add(static_cast<uint32_t>(id));
    } else {
      ++stats->dropped_bytes;
    }
  }
  merger->Merge(
      [this, merger](uint32_t left, uint32_t right) -> PairMerge {
        const auto it = ranks_.find(PairKey(merger->Symbol(left), merger->Symbol(right)));
        if (it == ranks_.end()) return {kNoRank, 0};
        return {it->second, results_[it->second]};
      },
      stats);
  const auto token_count = static_cast<uint32_t>(vocabulary_->size());
  for (uint32_t p = 0; p < merger->size(); p = merger->Next(p)) {
    const uint32_t symbol = merger->Symbol(p);
    if (symbol < token_count) {
      ids->push_back(static_cast<int32_t>(symbol));
      continue;
    }
    // No token itself: back to its bytes, which all have one.
    for (char c : extra_symbols_[symbol - token_count]) {
      ids->push_back(byte_tokens_[static_cast<uint8_t>(c)]);
    }
  }
}

}  // namespace minfer
