// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
// Metadata values as text.
#include <charconv>
#include <cstring>
#include <type_traits>

#include "base/printable.h"
#include "base/str_cat.h"
#include "gguf/metadata.h"

namespace minfer {
namespace {

// to_chars writes the shortest text that reads back as the same number, whatever the locale.
template <typename T>
void AppendNumber(const char* bytes, std::string* out) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  char text[40];
  std::to_chars_result result;
  if constexpr (std::is_floating_point_v<T>) {
    result = std::to_chars(text, text + sizeof(text), value, std::chars_format::general);
  } else {
    result = std::to_chars(text, text + sizeof(text), value);
  }
  out->append(text, result.ptr);
}

}  // namespace

void Metadata::AppendScalarText(GgufType type, uint64_t at, std::string* out) const {
  const char* bytes = bytes_.data() + at;
  switch (type) {
    case GgufType::kU8:
      return AppendNumber<uint8_t>(bytes, out);
    case GgufType::kI8:
      return AppendNumber<int8_t>(bytes, out);
    case GgufType::kU16:
      return AppendNumber<uint16_t>(bytes, out);
    case GgufType::kI16:
      return AppendNumber<int16_t>(bytes, out);
    case GgufType::kU32:
      return AppendNumber<uint32_t>(bytes, out);
    case GgufType::kI32:
      return AppendNumber<int32_t>(bytes, out);
    case GgufType::kU64:
      return AppendNumber<uint64_t>(bytes, out);
    case GgufType::kI64:
      return AppendNumber<int64_t>(bytes, out);
    case GgufType::kF32:
      return AppendNumber<float>(bytes, out);
    case GgufType::kF64:
      return AppendNumber<double>(bytes, out);
    case GgufType::kBool:
      out->append(*bytes != 0 ? "true" : "false");
      return;
    case GgufType::kString:
    case GgufType::kArray:
      return;
  }
}

std::string Metadata::ValueText(size_t i, size_t max_bytes) const {
  const Entry& entry = entries_[i];
  std::string out;
  if (entry.type == GgufType::kString) return std::string(ValueBytes(i));
  if (entry.type != GgufType::kArray) {
    AppendScalarText(entry.type, entry.value_begin, &out);
    return out;
  }
  const bool is_strings = entry.element_type == GgufType::kString;
  const StringArray strings = Strings(i);
  const uint64_t stride = TraitsOf(entry.element_type).size;
  out = "[";
  for (uint64_t k = 0; k < entry.count; ++k) {
    if (k != 0) out.append(", ");
    if (out.size() >= max_bytes) {
      out.append("...");
      break;
    }
    if (is_strings) {
      out.append("\"").append(Printable(strings[static_cast<size_t>(k)])).append("\"");
    } else {
      AppendScalarText(entry.element_type, entry.value_begin + k * stride, &out);
    }
  }
  return out.append("]");
}

std::string_view Metadata::ValueBytes(size_t i) const {
  const Entry& entry = entries_[i];
  uint64_t size = TraitsOf(entry.type).size;
  if (entry.type == GgufType::kString) size = entry.count;
  if (entry.type == GgufType::kArray) size = entry.count * TraitsOf(entry.element_type).size;
  return {bytes_.data() + entry.value_begin, static_cast<size_t>(size)};
}

}  // namespace minfer
