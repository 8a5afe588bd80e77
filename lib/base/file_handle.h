// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The one door to files: a read-only descriptor of a regular file. Movable, closes itself.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "base/status.h"

namespace minfer {

class FileHandle {
 public:
  // NOT_FOUND, PERMISSION_DENIED, or INVALID_ARGUMENT for a folder, a pipe or a device; the status
  // names the path. A pipe is refused at once: opening never waits for a writer.
  static StatusOr<FileHandle> Open(const std::string& path);

  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle();

  int descriptor() const { return descriptor_; }
  // The size when the file was opened.
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Fills all of `out` or fails; DATA_LOSS when the file has become shorter. Any thread.
  Status ReadAt(uint64_t offset, absl::Span<uint8_t> out) const;

  // DATA_LOSS when the file's size or time of change is not what it was when it was opened. A file
  // that another one has replaced under its name is unchanged: this is still the old one.
  Status CheckUnchanged() const;

 private:
  FileHandle(int descriptor, uint64_t size, std::string path)
      : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

  int descriptor_ = -1;
  uint64_t size_ = 0;
  int64_t modified_ns_ = 0;
  std::string path_;
};

// A status for a failed system call on `path`; `error_number` is the errno value.
Status FileError(int error_number, const std::string& action, const std::string& path);

}  // namespace minfer
