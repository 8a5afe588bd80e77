// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/key_reader.h"

#include <cmath>
#include <utility>

#include "base/str_cat.h"

namespace minfer {

Status ImpossibleKey(std::string_view key, std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kModel, std::move(message)).WithName(key);
}

KeyReader::KeyReader(const Metadata& metadata, std::string_view architecture)
    : metadata_(metadata), prefix_(StrCat(architecture, ".")) {}

StatusOr<int32_t> KeyReader::Size(std::string_view suffix, uint32_t limit, int64_t absent,
                                  int32_t layers) const {
  const std::string key = Key(suffix);
  if (!metadata_.Has(key)) {
    if (absent >= 0) return static_cast<int32_t>(absent);
    return ImpossibleKey(key, "the key is required and missing");
  }
  uint32_t value = 0;
  if (metadata_.IsArray(key)) {
    MF_ASSIGN_OR_RETURN(std::vector<uint32_t> values, metadata_.GetU32Array(key));
    if (layers < 0 || values.size() != static_cast<size_t>(layers)) {
      return ImpossibleKey(
          key, StrCat("an array of ", values.size(), " values for ", layers, " layers"));
    }
    for (uint32_t v : values) {
      if (v != values[0]) {
        return ImpossibleKey(key, StrCat("values differ from layer to layer (", values[0], " and ",
                                         v, "); one value for all is supported"));
      }
    }
    value = values[0];
  } else {
    MF_ASSIGN_OR_RETURN(value, metadata_.GetU32(key));
  }
  if (value == 0 || value > limit) {
    return ImpossibleKey(key, StrCat("value ", value, " is not from 1 to ", limit));
  }
  return static_cast<int32_t>(value);
}

StatusOr<float> KeyReader::Number(std::string_view suffix, float absent) const {
  MF_ASSIGN_OR_RETURN(float value, metadata_.GetF32Or(Key(suffix), absent));
  if (!std::isfinite(value)) return ImpossibleKey(Key(suffix), StrCat("value ", value));
  return value;
}

StatusOr<float> KeyReader::Positive(std::string_view suffix, float absent) const {
  MF_ASSIGN_OR_RETURN(float value, metadata_.GetF32Or(Key(suffix), absent));
  if (!std::isfinite(value) || value <= 0.0f) {
    return ImpossibleKey(Key(suffix), StrCat("value ", value, " is not a positive number"));
  }
  return value;
}

StatusOr<std::string_view> KeyReader::Text(std::string_view suffix, std::string_view absent) const {
  return metadata_.GetStringOr(Key(suffix), absent);
}

Status KeyReader::MustBe(std::string_view suffix, float neutral, std::string_view why) const {
  MF_ASSIGN_OR_RETURN(float value, Number(suffix, neutral));
  if (value == neutral) return OkStatus();
  return Status(StatusCode::kUnimplemented, Subsystem::kModel,
                StrCat("value ", value, " is not honoured: ", why))
      .WithName(Key(suffix));
}

}  // namespace minfer
