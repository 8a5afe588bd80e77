// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The value types of GGUF metadata.
#pragma once

#include <cstdint>
#include <string_view>

namespace minfer {

// The numbers are those of the format, which stores them in 32 bits.
enum class GgufType : uint8_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
inline constexpr uint32_t kGgufTypeCount = 13;

struct GgufTypeTraits {
  std::string_view name;  // "u32", "string"
  uint32_t size;          // bytes of a value; 0 for string and array
};

// Traits of one of the types above.
const GgufTypeTraits& TraitsOf(GgufType type);

}  // namespace minfer
