// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// strftime with English names, whatever the process's locale and time zone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minfer::chat {

// `seconds` since 1970, printed as UTC. An unknown directive stays as it is.
std::string FormatTime(std::string_view format, int64_t seconds);

}  // namespace minfer::chat
