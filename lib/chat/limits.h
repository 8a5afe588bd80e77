// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What one template may cost. A template comes from a model file, so it is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace minfer {

struct TemplateLimits {
  size_t max_template_bytes = size_t{1} << 20;
  // Brackets and blocks within one another.
  int max_nesting = 64;
  // Expressions and statements evaluated, and one more for each 256 bytes of text built.
  uint64_t max_steps = 20'000'000;
  size_t max_output_bytes = size_t{16} << 20;
  // What the values of the render hold at one time, in bytes.
  size_t max_memory_bytes = size_t{128} << 20;
  // Macro calls and recursive loops within one another.
  int max_recursion = 64;
};

struct RenderOptions {
  TemplateLimits limits;
  // Seconds since 1970 for strftime_now, which prints them as UTC; the system's clock if absent.
  std::optional<int64_t> now;
};

}  // namespace minfer
