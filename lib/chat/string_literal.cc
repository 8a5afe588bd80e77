// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/string_literal.h"

#include <charconv>
#include <cstdint>

#include "chat/unicode.h"

namespace minfer::chat {
namespace {

// Reads exactly `count` hexadecimal digits.
bool ReadHex(std::string_view text, size_t position, size_t count, uint32_t* value) {
  if (position + count > text.size()) return false;
  const char* begin = text.data() + position;
  const auto result = std::from_chars(begin, begin + count, *value, 16);
  return result.ec == std::errc() && result.ptr == begin + count;
}

bool IsHighSurrogate(uint32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool IsLowSurrogate(uint32_t c) { return c >= 0xDC00 && c < 0xE000; }

// \xHH, \uHHHH and \UHHHHHHHH; `position` stands on the letter and is left after the last digit.
const char* UnescapeHex(std::string_view literal, size_t* position, std::string* out) {
  const char letter = literal[*position];
  const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
  uint32_t value = 0;
  if (!ReadHex(literal, *position + 1, digits, &value)) return "a truncated \\x, \\u or \\U escape";
  *position += digits + 1;
  if (IsHighSurrogate(value)) {
    uint32_t low = 0;
    if (!literal.substr(*position).starts_with("\\u") ||
        !ReadHex(literal, *position + 2, 4, &low) || !IsLowSurrogate(low)) {
      return "half of a surrogate pair";
    }
    *position += 6;
    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
  }
  if (value > 0x10FFFF || IsLowSurrogate(value)) return "an escape names no character";
  AppendUtf8(value, out);
  return nullptr;
}

void UnescapeOctal(std::string_view literal, size_t* position, std::string* out) {
  uint32_t value = 0;
  for (int i = 0; i < 3 && *position < literal.size(); ++i, ++*position) {
    const char c = literal[*position];
    if (c < '0' || c > '7') break;
    value = value * 8 + static_cast<uint32_t>(c - '0');
  }
  AppendUtf8(value, out);
}

}  // namespace

const char* UnescapeLiteral(std::string_view literal, std::string* out) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
  for (size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 >= literal.size()) {
      out->push_back(literal[i++]);
      continue;
    }
    const char c = literal[++i];
    const size_t known = kLetters.find(c);
    if (known != std::string_view::npos) {
      out->push_back(kValues[known]);
      ++i;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      if (const char* problem = UnescapeHex(literal, &i, out); problem != nullptr) return problem;
    } else if (c >= '0' && c <= '7') {
      UnescapeOctal(literal, &i, out);
    } else if (c == 'N') {
      return "\\N{...} escapes are not supported";
    } else if (c == '\n') {
      ++i;
    } else {
      out->push_back('\\');  // an unknown escape stays as it is
    }
  }
  return nullptr;
}

}  // namespace minfer::chat
