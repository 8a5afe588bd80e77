// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Values as Python's str() and repr() print them.
#pragma once

#include <string>
#include <string_view>

#include "chat/text.h"
#include "chat/value.h"

namespace minfer::chat {

// The shortest digits that read back the same, as Python lays them out: 1.0, 1e-05, 1e+16.
std::string FloatRepr(double value);
// 'it' or "it's", with what can't be printed escaped.
std::string StringRepr(std::string_view text);

void AppendStr(const Value& value, TextBuilder* out);
void AppendRepr(const Value& value, TextBuilder* out);

// The escapes of HTML: & < > ' ".
void AppendEscaped(const Text& text, TextBuilder* out);

}  // namespace minfer::chat
