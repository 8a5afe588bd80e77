// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads the table of tensors of a GGUF header and checks it against the size of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_file.h"
#include "gguf/header_reader.h"

namespace minfer {

// Bytes that the smallest entry takes: an empty name, no dimensions, type and offset.
inline constexpr uint64_t kMinTensorEntryBytes = 8 + 4 + 4 + 8;

class TensorTableReader {
 public:
  TensorTableReader(HeaderReader* reader, uint64_t file_size, uint64_t alignment)
      : reader_(*reader), file_size_(file_size), alignment_(alignment) {}

  // Reads `count` entries, which the caller has compared with the size of the file; then places
  // the data section behind them and checks that each tensor lies in the file and on no other.
  Status Read(uint64_t count);

  // Results, after Read(): the names that tensors' names are views of, the tensors, the start of
  // the data section.
  std::vector<char> names;
  std::vector<TensorInfo> tensors;
  uint64_t data_offset = 0;

 private:
  // Kept beside a tensor while its table is read.
  struct Origin {
    uint64_t name_begin;
    uint64_t name_size;
    uint64_t file_offset;  // of the entry, for messages
  };

  Status ReadEntry();
  Status ReadName(Origin* origin);
  Status ReadShape(TensorInfo* tensor);
  Status ComputeBytes(TensorInfo* tensor, uint32_t type_code, uint64_t at);
  Status PlaceData();
  Status CheckInsideFile(size_t i);
  Status CheckNoOverlap();

  HeaderReader& reader_;
  const uint64_t file_size_;
  const uint64_t alignment_;
  std::vector<Origin> origins_;
};

}  // namespace minfer
