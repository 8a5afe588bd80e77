// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace minfer {
namespace {

constexpr bool StandsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr uint32_t kAlphabetEnd = 0x144;  // 68 bytes have a character from U+0100 on

constexpr std::array<uint16_t, 256> MakeCharacters() {
  std::array<uint16_t, 256> characters{};
  uint16_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    characters[byte] = StandsForItself(byte) ? static_cast<uint16_t>(byte) : next++;
  }
  return characters;
}

constexpr std::array<uint16_t, 256> kCharacters = MakeCharacters();

// The byte of each character below kAlphabetEnd, or -1.
constexpr std::array<int16_t, kAlphabetEnd> MakeBytes() {
  std::array<int16_t, kAlphabetEnd> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (uint32_t byte = 0; byte < 256; ++byte) bytes[kCharacters[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr std::array<int16_t, kAlphabetEnd> kBytes = MakeBytes();

}  // namespace

uint32_t ByteCharacter(uint8_t byte) { return kCharacters[byte]; }

std::optional<std::string> DecodeByteCharacters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    const size_t length = Utf8CharacterLength(text.substr(position));
    if (length == 0 || length > 2) return std::nullopt;
    uint32_t character = static_cast<uint8_t>(text[position]);
    if (length == 2) {
      character = (character & 0x1F) << 6 | (static_cast<uint8_t>(text[position + 1]) & 0x3F);
    }
    if (character >= kAlphabetEnd || kBytes[character] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[character]));
    position += length;
  }
  return bytes;
}

}  // namespace minfer
