// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Bytes of unknown origin made fit for messages and logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer {

// Bytes of the well-formed UTF-8 character at the start of `text`; 0 when there is none.
size_t Utf8CharSize(std::string_view text);
bool IsValidUtf8(std::string_view text);

// Control characters and bytes that are not UTF-8 become \xNN; a text of more than `max_bytes`
// bytes is cut and ends in "...".
std::string Printable(std::string_view text, size_t max_bytes = 100);

}  // namespace minfer
