// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Cuts a template's source into tokens. White space is settled here: trim_blocks and lstrip_blocks
// are on, as the programs that publish chat templates set them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer::chat {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1;
  std::string text;  // data, a name, a string's value, a number's digits, an operator
};

StatusOr<std::vector<Token>> Tokenize(std::string_view source);

// A syntax error: "line N: message", named for the construct.
Status SyntaxError(uint32_t line, std::string_view construct, std::string_view message);

}  // namespace minfer::chat
