// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The alphabet of byte-level BPE: every byte has a printable character of its own, so that a
// vocabulary can be kept as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer {

// The code point that stands for a byte: the byte's own number where that is printable, and
// otherwise the next free one from U+0100.
uint32_t ByteCharacter(uint8_t byte);

// The bytes that `text` stands for; nothing when a character is not of the alphabet.
std::optional<std::string> DecodeByteCharacters(std::string_view text);

}  // namespace minfer
