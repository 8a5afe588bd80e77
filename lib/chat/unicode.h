// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// UTF-8 and the character properties that the template language's text methods ask for. Bytes that
// are no UTF-8 count as one character each and are copied as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minfer::chat {

// The character at `position` and its length in bytes. A malformed byte gives itself plus
// kMalformedBase, so that AppendUtf8 writes the same byte again.
inline constexpr uint32_t kMalformedBase = 0x110000;
struct CodePoint {
  uint32_t value = 0;
  uint32_t length = 1;
};
CodePoint DecodeUtf8(std::string_view text, size_t position);
void AppendUtf8(uint32_t code_point, std::string* out);

bool IsAscii(std::string_view text);
size_t CountCodePoints(std::string_view text);
// The byte offset of character `index`, or the size of the text when it has fewer.
size_t ByteOffset(std::string_view text, size_t index);

bool IsSpace(uint32_t c);
bool IsAlphabetic(uint32_t c);
bool IsDecimal(uint32_t c);
bool IsDigit(uint32_t c);
bool IsNumeric(uint32_t c);
bool IsUpper(uint32_t c);
bool IsLower(uint32_t c);
bool IsPrintable(uint32_t c);

void AppendUpper(uint32_t c, std::string* out);
void AppendLower(uint32_t c, std::string* out);
void AppendTitle(uint32_t c, std::string* out);
std::string ToUpper(std::string_view text);
// A final capital sigma becomes the final small one.
std::string ToLower(std::string_view text);
// For comparing without regard to case: a sharp s becomes two.
std::string FoldCase(std::string_view text);
// The first letter of each word in title case, the rest in lower case.
std::string ToTitle(std::string_view text);
// The first character in title case, the rest in lower case.
std::string Capitalize(std::string_view text);
std::string SwapCase(std::string_view text);

// The white space at either end, in bytes.
size_t LeadingSpace(std::string_view text);
size_t TrailingSpace(std::string_view text);

}  // namespace minfer::chat
