// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads the key-value pairs of a GGUF header into a Metadata.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "gguf/header_reader.h"
#include "gguf/metadata.h"

namespace minfer {

// Bytes that the smallest pair takes: a key of one byte and a value of one.
inline constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;

class MetadataReader {
 public:
  explicit MetadataReader(HeaderReader* reader) : reader_(*reader) {}

  // Reads `count` pairs, which the caller has compared with the size of the file. A key that comes
  // twice is refused.
  StatusOr<Metadata> Read(uint64_t count);

 private:
  Status ReadPair();
  Status ReadKey(Metadata::Entry* entry);
  Status ReadValue(Metadata::Entry* entry);
  Status ReadArray(Metadata::Entry* entry);
  Status ReadType(GgufType* type);
  Status ReadStringLength(uint64_t* size);
  Status BuildIndex();

  HeaderReader& reader_;
  Metadata metadata_;
};

}  // namespace minfer
