// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/metadata_reader.h"

#include <utility>

#include "base/checked_math.h"
#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr uint64_t kMaxKeyBytes = 65535;                 // the format's limit
constexpr uint64_t kMaxStringBytes = uint64_t{1} << 30;  // ours, as other readers have it
constexpr uint64_t kMaxArrayCount = uint64_t{1} << 30;

bool HasControlCharacter(std::string_view text) {
  for (const char c : text) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) return true;
  }
  return false;
}

}  // namespace

StatusOr<Metadata> MetadataReader::Read(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) MF_RETURN_IF_ERROR(ReadPair());
  MF_RETURN_IF_ERROR(BuildIndex());
  return std::move(metadata_);
}

Status MetadataReader::ReadPair() {
  Metadata::Entry entry;
  MF_RETURN_IF_ERROR(ReadKey(&entry));
  // The key's bytes move when the block grows, so the context owns a copy.
  const std::string key(metadata_.KeyOf(entry));
  reader_.SetContext("key", key);
  MF_RETURN_IF_ERROR(ReadType(&entry.type));
  MF_RETURN_IF_ERROR(ReadValue(&entry));
  metadata_.entries_.push_back(entry);
  reader_.SetContext("metadata", "");
  return OkStatus();
}

Status MetadataReader::ReadKey(Metadata::Entry* entry) {
  entry->file_offset = reader_.offset();
  reader_.SetContext("metadata", "");
  uint64_t size = 0;
  MF_RETURN_IF_ERROR(reader_.Read(&size));
  if (size == 0) return reader_.Error("a key is empty", entry->file_offset);
  if (size > reader_.remaining()) return reader_.TooShort(size);
  if (size > kMaxKeyBytes) {
    return reader_.Error(StrCat("a key of ", size, " bytes; the format allows ", kMaxKeyBytes),
                         entry->file_offset);
  }
  entry->key_begin = metadata_.bytes_.size();
  entry->key_size = static_cast<uint32_t>(size);
  MF_RETURN_IF_ERROR(reader_.Append(size, &metadata_.bytes_));
  const std::string_view key = metadata_.KeyOf(*entry);
  if (HasControlCharacter(key) || !IsValidUtf8(key)) {
    return reader_.Error(StrCat("the key '", Printable(key), "' is not plain text"),
                         entry->file_offset);
  }
  return OkStatus();
}

Status MetadataReader::ReadType(GgufType* type) {
  const uint64_t at = reader_.offset();
  uint32_t code = 0;
  MF_RETURN_IF_ERROR(reader_.Read(&code));
  if (code >= kGgufTypeCount) {
    return reader_.Error(StrCat("unknown value type ", code), at);
  }
  *type = static_cast<GgufType>(code);
  return OkStatus();
}

Status MetadataReader::ReadStringLength(uint64_t* size) {
  const uint64_t at = reader_.offset();
  MF_RETURN_IF_ERROR(reader_.Read(size));
  if (*size > reader_.remaining()) return reader_.TooShort(*size);
  if (*size > kMaxStringBytes) {
    return reader_.Error(
        StrCat("a string of ", *size, " bytes; at most ", kMaxStringBytes, " are read"), at);
  }
  return OkStatus();
}

Status MetadataReader::ReadValue(Metadata::Entry* entry) {
  if (entry->type == GgufType::kArray) return ReadArray(entry);
  uint64_t size = TraitsOf(entry->type).size;
  if (entry->type == GgufType::kString) {
    MF_RETURN_IF_ERROR(ReadStringLength(&size));
    entry->count = size;
  }
  entry->value_begin = metadata_.bytes_.size();
  return reader_.Append(size, &metadata_.bytes_);
}

Status MetadataReader::ReadArray(Metadata::Entry* entry) {
  const uint64_t at = reader_.offset();
  MF_RETURN_IF_ERROR(ReadType(&entry->element_type));
  if (entry->element_type == GgufType::kArray) {
    return reader_.Error(StatusCode::kUnimplemented, "arrays of arrays are not read", at);
  }
  MF_RETURN_IF_ERROR(reader_.Read(&entry->count));
  const bool is_strings = entry->element_type == GgufType::kString;
  // An element of a string array takes at least its length.
  const uint64_t min_size = is_strings ? 8 : TraitsOf(entry->element_type).size;
  if (entry->count > reader_.remaining() / min_size) {
    return reader_
        .Error(StatusCode::kDataLoss,
               StrCat("an array of ", entry->count, " ", TraitsOf(entry->element_type).name,
                      ", but ", reader_.remaining(), " bytes of the file are left"),
               reader_.offset())
        .WithBytes(SaturatingMul(entry->count, min_size), reader_.remaining());
  }
  if (entry->count > kMaxArrayCount) {
    return reader_.Error(
        StrCat("an array of ", entry->count, " elements; at most ", kMaxArrayCount, " are read"),
        at);
  }
  entry->value_begin = metadata_.bytes_.size();
  if (!is_strings) return reader_.Append(entry->count * min_size, &metadata_.bytes_);
  entry->first_string = metadata_.string_ends_.size();
  for (uint64_t i = 0; i < entry->count; ++i) {
    uint64_t size = 0;
    MF_RETURN_IF_ERROR(ReadStringLength(&size));
    MF_RETURN_IF_ERROR(reader_.Append(size, &metadata_.bytes_));
    metadata_.string_ends_.push_back(metadata_.bytes_.size());
  }
  return OkStatus();
}

Status MetadataReader::BuildIndex() {
  metadata_.bytes_.shrink_to_fit();
  metadata_.string_ends_.shrink_to_fit();
  for (const Metadata::Entry& entry : metadata_.entries_) {
    const std::string_view key = metadata_.KeyOf(entry);
    const uint32_t position = static_cast<uint32_t>(&entry - metadata_.entries_.data());
    if (metadata_.index_.emplace(absl::string_view(key.data(), key.size()), position).second) {
      continue;
    }
    reader_.SetContext("key", key);
    return reader_.Error("the key comes twice", entry.file_offset);
  }
  return OkStatus();
}

}  // namespace minfer
