// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Small text files of /proc and /sys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace minfer {

// The first 64 KiB of a file without trailing white space; empty where it cannot be read.
std::string ReadSmallFile(const std::string& path);

// The integer at the start of `text` after blanks, and what follows it; (-1, text) where there is
// none.
std::pair<int64_t, std::string_view> ParseLeadingInteger(std::string_view text);

}  // namespace minfer
