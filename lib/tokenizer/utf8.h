// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Well-formed UTF-8 as Unicode's table 3-7 has it: no overlong forms, no surrogates, nothing past
// U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace minfer {

// Bytes of the well-formed character at the start of `text` (1..4); 0 when there is none.
size_t Utf8CharacterLength(std::string_view text);

// Bytes of the longest well-formed text at the start of `text`.
size_t ValidUtf8Prefix(std::string_view text);

// Bytes at the start of `text` that belong to no well-formed character.
size_t InvalidUtf8Prefix(std::string_view text);

// Bytes at the end of `text` (0..3) that begin a character whose rest may still come.
size_t IncompleteUtf8Suffix(std::string_view text);

}  // namespace minfer
