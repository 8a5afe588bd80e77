// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The part after the colon of '{:>10.2f}', and the number formats that % shares with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "chat/runtime.h"
#include "chat/text.h"
#include "chat/value.h"

namespace minfer::chat {

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =, or none given
  char sign = '-';
  bool alternate = false;
  char grouping = '\0';  // , or _
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

StatusOr<FormatSpec> ParseFormatSpec(std::string_view spec);
StatusOr<Text> FormatWithSpec(Runtime& rt, const Value& value, const FormatSpec& spec);

}  // namespace minfer::chat
