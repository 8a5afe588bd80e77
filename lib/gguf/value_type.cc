// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/value_type.h"

namespace minfer {

const GgufTypeTraits& TraitsOf(GgufType type) {
  static constexpr GgufTypeTraits kTraits[kGgufTypeCount] = {
      {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
      {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};
  return kTraits[static_cast<uint32_t>(type)];
}

}  // namespace minfer
