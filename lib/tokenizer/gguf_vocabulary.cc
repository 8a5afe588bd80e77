// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_vocabulary.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace minfer {
namespace {

StatusOr<StringList> ReadStrings(const Metadata& metadata, std::string_view key) {
  MF_ASSIGN_OR_RETURN(const StringArray strings, metadata.GetStringArray(key));
  StringList list;
  for (size_t i = 0; i < strings.size(); ++i) list.Add(strings[i]);
  return list;
}

Status ReadFlag(const Metadata& metadata, std::string_view key, std::optional<bool>* flag) {
  if (!metadata.Has(key)) return OkStatus();
  MF_ASSIGN_OR_RETURN(*flag, metadata.GetBool(key));
  return OkStatus();
}

Status ReadSpecialIds(const Metadata& metadata, VocabularyData* data) {
  for (size_t role = 0; role < kSpecialTokenCount; ++role) {
    const std::string_view key = SpecialTokenKey(static_cast<SpecialToken>(role));
    if (!metadata.Has(key)) continue;
    // Some writers say "none" by -1 in a signed type.
    const StatusOr<int32_t> number = metadata.GetI32(key);
    if (number.ok() && *number < 0) {
      data->special_ids[role] = kNoSpecialId;
      continue;
    }
    MF_ASSIGN_OR_RETURN(data->special_ids[role], metadata.GetU64(key));
  }
  return OkStatus();
}

// The list of tokens that end an answer, under either of the names that writers use.
Status ReadEndIds(const Metadata& metadata, VocabularyData* data) {
  for (std::string_view key : {"tokenizer.ggml.eos_token_ids", "tokenizer.ggml.eog_token_ids"}) {
    if (!metadata.Has(key)) continue;
    MF_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, metadata.GetI32Array(key));
    for (int32_t id : ids) {
      if (id >= 0) data->end_ids.push_back(static_cast<uint64_t>(id));
    }
  }
  return OkStatus();
}

// What the kinds beside byte-level BPE have of their own.
Status ReadNormalization(const Metadata& metadata, VocabularyData* data) {
  constexpr std::string_view kCls = "tokenizer.ggml.cls_token_id";
  std::optional<uint64_t>& bos = data->special(SpecialToken::kBos);
  if (!bos.has_value() && metadata.Has(kCls)) {
    MF_ASSIGN_OR_RETURN(bos, metadata.GetU64(kCls));
  }
  constexpr std::string_view kMap = "tokenizer.ggml.precompiled_charsmap";
  if (metadata.Has(kMap)) {
    MF_ASSIGN_OR_RETURN(const absl::Span<const uint8_t> bytes, metadata.GetU8Array(kMap));
    data->characters_map.assign(bytes.begin(), bytes.end());
  }
  MF_RETURN_IF_ERROR(ReadFlag(metadata, "tokenizer.ggml.add_sep_token", &data->add_separator));
  return ReadFlag(metadata, "tokenizer.ggml.remove_extra_whitespaces",
                  &data->remove_extra_whitespaces);
}

}  // namespace

StatusOr<VocabularyData> LoadVocabulary(const Metadata& metadata) {
  VocabularyData data;
  MF_ASSIGN_OR_RETURN(data.model, metadata.GetString("tokenizer.ggml.model"));
  if (metadata.Has("tokenizer.ggml.pre")) {
    MF_ASSIGN_OR_RETURN(data.pre, metadata.GetString("tokenizer.ggml.pre"));
  }
  if (metadata.Has("tokenizer.ggml.tokens")) {
    MF_ASSIGN_OR_RETURN(data.tokens, ReadStrings(metadata, "tokenizer.ggml.tokens"));
  }
  if (metadata.Has("tokenizer.ggml.scores")) {
    MF_ASSIGN_OR_RETURN(data.scores, metadata.GetF32Array("tokenizer.ggml.scores"));
  }
  if (metadata.Has("tokenizer.ggml.token_type")) {
    MF_ASSIGN_OR_RETURN(data.token_types, metadata.GetI32Array("tokenizer.ggml.token_type"));
  }
  if (metadata.Has("tokenizer.ggml.merges")) {
    MF_ASSIGN_OR_RETURN(data.merges, ReadStrings(metadata, "tokenizer.ggml.merges"));
  }
  MF_RETURN_IF_ERROR(ReadSpecialIds(metadata, &data));
  MF_RETURN_IF_ERROR(ReadEndIds(metadata, &data));
  MF_RETURN_IF_ERROR(ReadNormalization(metadata, &data));
  MF_RETURN_IF_ERROR(ReadFlag(metadata, "tokenizer.ggml.add_bos_token", &data.add_bos));
  MF_RETURN_IF_ERROR(ReadFlag(metadata, "tokenizer.ggml.add_eos_token", &data.add_eos));
  MF_RETURN_IF_ERROR(ReadFlag(metadata, "tokenizer.ggml.add_space_prefix", &data.add_space_prefix));
  return data;
}

StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const Metadata& metadata) {
  MF_ASSIGN_OR_RETURN(const VocabularyData data, LoadVocabulary(metadata));
  return Tokenizer::Create(data);
}

}  // namespace minfer
