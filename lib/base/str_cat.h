// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Joins text and numbers. Abseil as Debian builds it has a string_view of its own, which
// std::string_view does not convert to; this takes both.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace minfer {
namespace internal {

inline absl::string_view ToPiece(std::string_view text) { return {text.data(), text.size()}; }
template <typename T>
const T& ToPiece(const T& piece) {
  return piece;  // NOLINT(bugprone-return-const-ref-from-parameter)
}

}  // namespace internal

template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  return absl::StrCat(internal::ToPiece(pieces)...);
}

}  // namespace minfer
