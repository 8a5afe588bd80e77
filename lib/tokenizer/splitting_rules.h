// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The table of splitting rules: what tokenizer.ggml.pre names.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace minfer {

struct SplittingRule {
  static constexpr size_t kMostPatterns = 6;

  std::string_view name;
  // Each cuts the pieces that those before it left: what it matches is a piece, and so is what lies
  // between two matches. Null past the last.
  std::array<const char*, kMostPatterns> patterns;
  // Text begins with the bos token unless told otherwise, and a piece that is itself a token is
  // taken whole.
  bool llama3_kind;
};

// Null for a name that is not in the table.
const SplittingRule* FindSplittingRule(std::string_view name);

}  // namespace minfer
