// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Operations on text that filters and methods share. Pieces of a text keep their origin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/runtime.h"
#include "chat/text.h"

namespace minfer::chat {

// Without white space, or without the characters of `chars`, at the sides asked for.
Text Strip(const Text& text, const std::string* chars, bool left, bool right);
// At most `count` replacements; all when it is negative.
StatusOr<Text> Replace(Runtime& rt, const Text& text, std::string_view old_text,
                       const Text& new_text, int64_t count);
// The lines, at every line end that Python knows.
std::vector<Text> SplitLines(const Text& text, bool keep_ends);
// The text run by run through a function, so that origins stay.
StatusOr<Text> MapText(Runtime& rt, const Text& text, std::string (*function)(std::string_view));
// `left` and `right` fill characters around the text.
StatusOr<Text> Pad(Runtime& rt, const Text& text, int64_t left, int64_t right,
                   std::string_view fill);

}  // namespace minfer::chat
