// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/unicode.h"

#include <algorithm>

#include "chat/unicode_tables.h"

namespace minfer::chat {
namespace {

bool InRanges(const CodePointRange* table, size_t count, uint32_t c) {
  const CodePointRange* end = table + count;
  const CodePointRange* it = std::lower_bound(
      table, end, c,
      [](const CodePointRange& range, uint32_t value) { return range.last < value; });
  return it != end && it->first <= c;
}

uint32_t MapCase(const CaseRange* table, size_t count, uint32_t c) {
  const CaseRange* end = table + count;
  const CaseRange* it = std::lower_bound(
      table, end, c, [](const CaseRange& range, uint32_t value) { return range.last < value; });
  // Ranges with a stride of two may interleave with their neighbours.
  for (; it != end && it->first <= c; ++it) {
    if (c <= it->last && (c - it->first) % it->stride == 0) return c + it->delta;
  }
  return c;
}

const CaseExpansion* FindExpansion(const CaseExpansion* table, size_t count, uint32_t c) {
  const CaseExpansion* end = table + count;
  const CaseExpansion* it = std::lower_bound(
      table, end, c,
      [](const CaseExpansion& entry, uint32_t value) { return entry.code_point < value; });
  return it != end && it->code_point == c ? it : nullptr;
}

void AppendExpansion(const CaseExpansion& expansion, std::string* out) {
  for (uint32_t mapped : expansion.mapped) {
    if (mapped != 0) AppendUtf8(mapped, out);
  }
}

bool IsTitleOnly(uint32_t c) {
  return c >= 0x80 && FindExpansion(kTitleExceptions, kTitleExceptionsCount, c) != nullptr &&
         !IsUpper(c) && !IsLower(c);
}

bool IsCased(uint32_t c) { return IsUpper(c) || IsLower(c) || IsTitleOnly(c); }

constexpr uint32_t kCapitalSigma = 0x3A3;
constexpr uint32_t kFinalSigma = 0x3C2;

// The character that ends at `end`, malformed or not.
CodePoint Previous(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  const CodePoint c = DecodeUtf8(text, at);
  return c.length == end - at ? c : DecodeUtf8(text, end - 1);
}

// Whether a letter stands before `position`, quotes and dots aside, and none after the character
// there.
bool IsFinalSigma(std::string_view text, size_t position) {
  bool letter_before = false;
  for (size_t end = position; end > 0;) {
    const CodePoint c = Previous(text, end);
    letter_before = IsCased(c.value);
    if (c.value != '\'' && c.value != '.') break;
    end -= c.length;
  }
  if (!letter_before) return false;
  const size_t next = position + DecodeUtf8(text, position).length;
  return next >= text.size() || !IsCased(DecodeUtf8(text, next).value);
}

void AppendLowerAt(std::string_view text, size_t position, uint32_t c, std::string* out) {
  if (c == kCapitalSigma && IsFinalSigma(text, position)) {
    AppendUtf8(kFinalSigma, out);
  } else {
    AppendLower(c, out);
  }
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) -> uint32_t {
    return position + i < text.size() ? static_cast<uint8_t>(text[position + i]) : 0;
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (lead >= 0xC2 && lead < 0xE0 && continues(1)) {
    return {((lead & 0x1F) << 6) | (byte(1) & 0x3F), 2};
  }
  if (lead >= 0xE0 && lead < 0xF0 && continues(1) && continues(2)) {
    const uint32_t value = ((lead & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    if (value >= 0x800 && (value < 0xD800 || value > 0xDFFF)) return {value, 3};
  }
  if (lead >= 0xF0 && lead < 0xF5 && continues(1) && continues(2) && continues(3)) {
    const uint32_t value = ((lead & 0x07) << 18) | ((byte(1) & 0x3F) << 12) |
                           ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F);
    if (value >= 0x10000 && value < 0x110000) return {value, 4};
  }
  return {kMalformedBase + lead, 1};
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < kMalformedBase) {
    out->push_back(static_cast<char>(0xF0 | (c >> 18)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(c - kMalformedBase));
  }
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

size_t CountCodePoints(std::string_view text) {
  if (IsAscii(text)) return text.size();
  size_t count = 0;
  for (size_t i = 0; i < text.size(); i += DecodeUtf8(text, i).length) ++count;
  return count;
}

size_t ByteOffset(std::string_view text, size_t index) {
  if (IsAscii(text)) return std::min(index, text.size());
  size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += DecodeUtf8(text, offset).length;
  return std::min(offset, text.size());
}

bool IsSpace(uint32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsAlphabetic(uint32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return InRanges(kAlphabetic, kAlphabeticCount, c);
}

bool IsDecimal(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return InRanges(kDecimal, kDecimalCount, c);
}

bool IsDigit(uint32_t c) {
  return IsDecimal(c) || (c >= 0x80 && InRanges(kDigitOnly, kDigitOnlyCount, c));
}

bool IsNumeric(uint32_t c) {
  return IsDigit(c) || (c >= 0x80 && InRanges(kNumericOnly, kNumericOnlyCount, c));
}

bool IsUpper(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  // A title-case letter such as U+01C5 maps both ways and is neither.
  if (MapCase(kToUpper, kToUpperCount, c) != c ||
      FindExpansion(kUpperExpansions, kUpperExpansionsCount, c) != nullptr) {
    return false;
  }
  return MapCase(kToLower, kToLowerCount, c) != c ||
         FindExpansion(kLowerExpansions, kLowerExpansionsCount, c) != nullptr ||
         InRanges(kUppercaseUnmapped, kUppercaseUnmappedCount, c);
}

bool IsLower(uint32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  if (MapCase(kToLower, kToLowerCount, c) != c) return false;
  return MapCase(kToUpper, kToUpperCount, c) != c ||
         FindExpansion(kUpperExpansions, kUpperExpansionsCount, c) != nullptr ||
         InRanges(kLowercaseUnmapped, kLowercaseUnmappedCount, c);
}

bool IsPrintable(uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  return !InRanges(kNotPrintable, kNotPrintableCount, c);
}

void AppendUpper(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  } else if (const auto* e = FindExpansion(kUpperExpansions, kUpperExpansionsCount, c)) {
    AppendExpansion(*e, out);
  } else {
    AppendUtf8(MapCase(kToUpper, kToUpperCount, c), out);
  }
}

void AppendLower(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  } else if (const auto* e = FindExpansion(kLowerExpansions, kLowerExpansionsCount, c)) {
    AppendExpansion(*e, out);
  } else {
    AppendUtf8(MapCase(kToLower, kToLowerCount, c), out);
  }
}

void AppendTitle(uint32_t c, std::string* out) {
  const auto* e = c < 0x80 ? nullptr : FindExpansion(kTitleExceptions, kTitleExceptionsCount, c);
  if (e != nullptr) {
    AppendExpansion(*e, out);
  } else {
    AppendUpper(c, out);
  }
}

std::string ToUpper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    AppendUpper(c.value, &out);
    i += c.length;
  }
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    AppendLowerAt(text, i, c.value, &out);
    i += c.length;
  }
  return out;
}

std::string FoldCase(std::string_view text) {
  const std::string upper = ToUpper(text);
  std::string out;
  for (size_t i = 0; i < upper.size();) {
    const CodePoint c = DecodeUtf8(upper, i);
    AppendLower(c.value, &out);
    i += c.length;
  }
  return out;
}

std::string ToTitle(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (in_word) {
      AppendLowerAt(text, i, c.value, &out);
    } else {
      AppendTitle(c.value, &out);
    }
    in_word = IsCased(c.value);
    i += c.length;
  }
  return out;
}

std::string Capitalize(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (i == 0) {
      AppendTitle(c.value, &out);
    } else {
      AppendLowerAt(text, i, c.value, &out);
    }
    i += c.length;
  }
  return out;
}

std::string SwapCase(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (IsUpper(c.value)) {
      AppendLowerAt(text, i, c.value, &out);
    } else {
      AppendUpper(c.value, &out);
    }
    i += c.length;
  }
  return out;
}

size_t LeadingSpace(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const CodePoint c = DecodeUtf8(text, i);
    if (!IsSpace(c.value)) break;
    i += c.length;
  }
  return i;
}

size_t TrailingSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) {
      --begin;
    }
    const CodePoint c = DecodeUtf8(text, begin);
    if (begin + c.length != end || !IsSpace(c.value)) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace minfer::chat
