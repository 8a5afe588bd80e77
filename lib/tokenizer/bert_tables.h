// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What BERT's tokenizers make of characters above U+007F, sorted by code point.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};
struct CodePointPair {
  uint32_t from;
  uint32_t to;
};
struct CodePointFold {
  uint32_t from;
  uint32_t to[3];  // zeros at the end
};

// Lower case of the canonical decomposition without nonspacing marks, where that is another
// character, and where it is several. Hangul syllables are not listed.
extern const CodePointPair kBertFold[];
extern const size_t kBertFoldCount;
extern const CodePointFold kBertFoldLong[];
extern const size_t kBertFoldLongCount;

// Control, format and private characters, and nonspacing marks.
extern const CodePointRange kBertDropped[];
extern const size_t kBertDroppedCount;

// Punctuation.
extern const CodePointRange kBertMarks[];
extern const size_t kBertMarksCount;

}  // namespace minfer
