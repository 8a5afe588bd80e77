// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The part of the history that a last-n setting means.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace minfer {

// The newest `last_n` tokens; all of them when it is -1 or there are fewer.
inline absl::Span<const int32_t> NewestTokens(absl::Span<const int32_t> history, int32_t last_n) {
  if (last_n < 0 || history.size() <= static_cast<size_t>(last_n)) return history;
  return history.subspan(history.size() - last_n);
}

}  // namespace minfer
