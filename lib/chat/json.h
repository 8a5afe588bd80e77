// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// JSON in and out. Keys keep their order and integers their digits, however many.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace minfer::chat {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// As Python's json.dumps writes it. The text counts as content when any of it came from there.
StatusOr<Value> ToJson(Runtime& rt, const Value& value, const JsonStyle& style);

// `what` names the text in errors. Every string is marked with `from_content`.
StatusOr<Value> ValueFromJson(std::string_view json, std::string_view what, bool from_content);

}  // namespace minfer::chat
