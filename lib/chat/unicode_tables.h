// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The Unicode tables behind unicode.h; sorted by code point, searched by halving.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::chat {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Every stride-th code point from first to last maps to itself plus delta.
struct CaseRange {
  uint32_t first;
  uint32_t last;
  int32_t delta;
  uint32_t stride;
};

// A mapping to up to three code points; unused places are 0.
struct CaseExpansion {
  uint32_t code_point;
  uint32_t mapped[3];
};

extern const CodePointRange kAlphabetic[];
extern const size_t kAlphabeticCount;
extern const CodePointRange kNotPrintable[];
extern const size_t kNotPrintableCount;
extern const CodePointRange kDecimal[];
extern const size_t kDecimalCount;
extern const CodePointRange kDigitOnly[];
extern const size_t kDigitOnlyCount;
extern const CodePointRange kNumericOnly[];
extern const size_t kNumericOnlyCount;
extern const CaseRange kToUpper[];
extern const size_t kToUpperCount;
extern const CaseRange kToLower[];
extern const size_t kToLowerCount;
extern const CaseExpansion kUpperExpansions[];
extern const size_t kUpperExpansionsCount;
extern const CaseExpansion kLowerExpansions[];
extern const size_t kLowerExpansionsCount;
extern const CaseExpansion kTitleExceptions[];
extern const size_t kTitleExceptionsCount;
extern const CodePointRange kLowercaseUnmapped[];
extern const size_t kLowercaseUnmappedCount;
extern const CodePointRange kUppercaseUnmapped[];
extern const size_t kUppercaseUnmappedCount;

}  // namespace minfer::chat
