// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <cstdint>

namespace minfer {
namespace {

// The range that the second byte must be in, which also excludes surrogates, overlong forms and
// what lies past U+10FFFF.
struct LeadRow {
  uint8_t first, last;  // lead bytes of this row
  uint8_t size;
  uint8_t second_first, second_last;
};

constexpr LeadRow kLeads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

}  // namespace

size_t Utf8CharSize(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  for (const LeadRow& row : kLeads) {
    if (byte(0) < row.first || byte(0) > row.last) continue;
    if (text.size() < row.size) return 0;
    if (byte(1) < row.second_first || byte(1) > row.second_last) return 0;
    for (size_t i = 2; i < row.size; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    return row.size;
  }
  return 0;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8CharSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string Printable(std::string_view text, size_t max_bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kCut = "...";
  const bool cut = text.size() > max_bytes;
  const size_t limit = cut && max_bytes > kCut.size() ? max_bytes - kCut.size() : max_bytes;
  std::string out;
  while (!text.empty()) {
    const size_t size = Utf8CharSize(text);
    const uint8_t lead = static_cast<uint8_t>(text[0]);
    const bool plain = size > 1 || (size == 1 && lead >= 0x20 && lead != 0x7F);
    const size_t printed = plain ? size : 4;
    if (out.size() + printed > limit) return out.append(kCut);
    if (plain) {
      out.append(text.substr(0, size));
    } else {
      out.append("\\x").append(1, kHex[lead >> 4]).append(1, kHex[lead & 15]);
    }
    text.remove_prefix(plain ? size : 1);
  }
  return out;
}

}  // namespace minfer
