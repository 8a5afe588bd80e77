// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A whole file mapped read-only. The pages belong to the system's file cache: reading one that
// another process has truncated away raises SIGBUS, which is why loading can also read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "base/file_handle.h"
#include "base/status.h"

namespace minfer {

enum class PageAdvice { kNormal, kSequential, kRandom, kWillNeed, kDontNeed };

class MappedFile {
 public:
  static StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Empty for an empty file.
  absl::Span<const uint8_t> bytes() const { return bytes_; }
  const std::string& path() const { return file_.path(); }
  // As FileHandle's.
  Status CheckUnchanged() const { return file_.CheckUnchanged(); }

  // OUT_OF_RANGE when [offset, offset + size) leaves the file.
  StatusOr<absl::Span<const uint8_t>> Range(uint64_t offset, uint64_t size) const;

  // Tells the system how a range will be used; the range is widened to whole pages. A hint: the
  // system may ignore it, and a refusal is no error.
  Status Advise(uint64_t offset, uint64_t size, PageAdvice advice) const;

 private:
  MappedFile(absl::Span<const uint8_t> bytes, FileHandle file)
      : bytes_(bytes), file_(std::move(file)) {}

  absl::Span<const uint8_t> bytes_;
  FileHandle file_;  // stays open: it tells whether the file has changed
};

}  // namespace minfer
