// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The escapes of a string literal, Python's.
#pragma once

#include <string>
#include <string_view>

namespace minfer::chat {

// Appends the value of the literal's inside to `out`; nullptr, or what is wrong with it.
const char* UnescapeLiteral(std::string_view literal, std::string* out);

}  // namespace minfer::chat
