// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/utf8.h"

#include <cstdint>

namespace minfer {
namespace {

// What a first byte says: the length of its character and the range of the second byte (which
// excludes overlong forms, surrogates and what lies past U+10FFFF).
struct FirstByte {
  uint8_t length;
  uint8_t second_low;
  uint8_t second_high;
};

FirstByte Classify(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many of the bytes of `text` fit the character that its first byte announces.
size_t MatchingBytes(std::string_view text, const FirstByte& first) {
  size_t count = 1;
  while (count < first.length && count < text.size()) {
    const auto byte = static_cast<uint8_t>(text[count]);
    const uint8_t low = count == 1 ? first.second_low : 0x80;
    const uint8_t high = count == 1 ? first.second_high : 0xBF;
    if (byte < low || byte > high) break;
    ++count;
  }
  return count;
}

}  // namespace

size_t Utf8CharacterLength(std::string_view text) {
  if (text.empty()) return 0;
  const FirstByte first = Classify(static_cast<uint8_t>(text[0]));
  if (first.length == 0) return 0;
  return MatchingBytes(text, first) == first.length ? first.length : 0;
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    const size_t length = Utf8CharacterLength(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

size_t InvalidUtf8Prefix(std::string_view text) {
  size_t position = 0;
  while (position < text.size() && Utf8CharacterLength(text.substr(position)) == 0) ++position;
  return position;
}

size_t IncompleteUtf8Suffix(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    const FirstByte first = Classify(static_cast<uint8_t>(tail[0]));
    if (first.length > back) return MatchingBytes(tail, first) == back ? back : 0;
    const bool continuation = (static_cast<uint8_t>(tail[0]) & 0xC0) == 0x80;
    if (!continuation) return 0;
  }
  return 0;
}

}  // namespace minfer
