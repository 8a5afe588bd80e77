// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Element formats and the page size of the KV cache, shared by every backend.
#pragma once

#include <cstdint>

namespace minfer {

enum class KvFormat : int32_t { kF32 = 0, kF16 = 1, kQ8_0 = 2 };

// Cells (token rows) in a page.
inline constexpr int kKvPageCells = 64;

}  // namespace minfer
