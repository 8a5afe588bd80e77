// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads and checks the keys "A.*" of one architecture. A value that no model can have is
// INVALID_ARGUMENT, naming the key.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/status.h"
#include "gguf/metadata.h"

namespace minfer {

// Larger numbers are no model's: they would only make products overflow.
inline constexpr uint32_t kMaxModelSize = 1u << 24;
inline constexpr uint32_t kMaxModelContext = std::numeric_limits<int32_t>::max();

// INVALID_ARGUMENT naming the key.
Status ImpossibleKey(std::string_view key, std::string message);

class KeyReader {
 public:
  // The metadata outlives the reader.
  KeyReader(const Metadata& metadata, std::string_view architecture);

  std::string Key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  bool Has(std::string_view suffix) const { return metadata_.Has(Key(suffix)); }

  // A size from 1 to `limit`; required unless `absent` is at least 0. An array with one value a
  // layer is taken when all are equal; layers is -1 where the key has no such form.
  StatusOr<int32_t> Size(std::string_view suffix, uint32_t limit, int64_t absent,
                         int32_t layers) const;
  // A finite number.
  StatusOr<float> Number(std::string_view suffix, float absent) const;
  // A finite number greater than 0.
  StatusOr<float> Positive(std::string_view suffix, float absent) const;
  StatusOr<std::string_view> Text(std::string_view suffix, std::string_view absent) const;
  // For a key that changes the maths and that nothing here honours: UNIMPLEMENTED, naming it,
  // unless it is absent or says `neutral`.
  Status MustBe(std::string_view suffix, float neutral, std::string_view why) const;

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

}  // namespace minfer
