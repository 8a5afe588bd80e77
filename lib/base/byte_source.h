// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where a model's bytes come from: a file read or mapped, the caller's memory, or the caller's
// callback. Random access, read-only; the size does not change. One object serves many threads,
// unless the caller's callback does not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "base/mapped_file.h"
#include "base/status.h"

namespace minfer {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  uint64_t size() const { return size_; }
  // For messages: the path, or "memory" or "reader".
  const std::string& name() const { return name_; }

  // Fills all of `out` from `offset` on; OUT_OF_RANGE when that leaves the source.
  Status ReadAt(uint64_t offset, absl::Span<uint8_t> out) const;

  // All bytes where they can be addressed in place; empty when they must be read.
  virtual absl::Span<const uint8_t> mapped() const { return {}; }
  // The file mapping behind mapped(), to advise the system; nullptr when there is none.
  virtual const MappedFile* mapped_file() const { return nullptr; }

  // DATA_LOSS when it is a file that was written to since it was opened.
  virtual Status CheckUnchanged() const { return OkStatus(); }

 protected:
  ByteSource(uint64_t size, std::string name) : size_(size), name_(std::move(name)) {}

 private:
  // Called with a range inside the source and not empty.
  virtual Status DoReadAt(uint64_t offset, absl::Span<uint8_t> out) const = 0;

  uint64_t size_;
  std::string name_;
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

// Fills `size` bytes at `buffer` from `offset` on. Returns 0, or a canonical code that becomes the
// code of the failure (any other number becomes UNAVAILABLE). An exception becomes ABORTED.
using ReadAtFn = int32_t (*)(void* user_data, uint64_t offset, void* buffer, size_t size);

// Reads with pread; nothing is mapped.
StatusOr<ByteSourcePtr> OpenFileSource(const std::string& path);
StatusOr<ByteSourcePtr> OpenMappedSource(const std::string& path);
// The caller keeps `bytes` alive and unchanged as long as the source.
ByteSourcePtr MakeMemorySource(absl::Span<const uint8_t> bytes, std::string name = "memory");
// The caller's reader over `size` bytes; called only from inside calls on the source.
StatusOr<ByteSourcePtr> MakeReaderSource(ReadAtFn read_at, void* user_data, uint64_t size,
                                         std::string name = "reader");

}  // namespace minfer
