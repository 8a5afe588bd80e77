// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <cstring>
#include <utility>

#include "base/file_handle.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(FileHandle file)
      : ByteSource(file.size(), file.path()), file_(std::move(file)) {}

  Status CheckUnchanged() const override { return file_.CheckUnchanged(); }

 private:
  Status DoReadAt(uint64_t offset, absl::Span<uint8_t> out) const override {
    return file_.ReadAt(offset, out);
  }

  FileHandle file_;
};

class MappedSource final : public ByteSource {
 public:
  explicit MappedSource(MappedFile file)
      : ByteSource(file.bytes().size(), file.path()), file_(std::move(file)) {}

  absl::Span<const uint8_t> mapped() const override { return file_.bytes(); }
  const MappedFile* mapped_file() const override { return &file_; }
  Status CheckUnchanged() const override { return file_.CheckUnchanged(); }

 private:
  Status DoReadAt(uint64_t offset, absl::Span<uint8_t> out) const override {
    std::memcpy(out.data(), file_.bytes().data() + offset, out.size());
    return OkStatus();
  }

  MappedFile file_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(absl::Span<const uint8_t> bytes, std::string name)
      : ByteSource(bytes.size(), std::move(name)), bytes_(bytes) {}

  absl::Span<const uint8_t> mapped() const override { return bytes_; }

 private:
  Status DoReadAt(uint64_t offset, absl::Span<uint8_t> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return OkStatus();
  }

  absl::Span<const uint8_t> bytes_;
};

class ReaderSource final : public ByteSource {
 public:
  ReaderSource(ReadAtFn read_at, void* user_data, uint64_t size, std::string name)
      : ByteSource(size, std::move(name)), read_at_(read_at), user_data_(user_data) {}

 private:
  Status DoReadAt(uint64_t offset, absl::Span<uint8_t> out) const override {
    int32_t code = 0;
    try {
      code = read_at_(user_data_, offset, out.data(), out.size());
    } catch (...) {
      return Failure(StatusCode::kAborted, "the reader threw an exception", offset);
    }
    if (code == 0) return OkStatus();
    const StatusCode canonical = static_cast<StatusCode>(code);
    const bool known = StatusCodeName(canonical) != "UNKNOWN";
    return Failure(known ? canonical : StatusCode::kUnavailable,
                   StrCat("the reader failed with ", code), offset);
  }

  Status Failure(StatusCode code, std::string message, uint64_t offset) const {
    return Status(code, Subsystem::kFile, std::move(message)).WithName(name()).WithOffset(offset);
  }

  ReadAtFn read_at_;
  void* user_data_;
};

}  // namespace

Status ByteSource::ReadAt(uint64_t offset, absl::Span<uint8_t> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return Status(StatusCode::kOutOfRange, Subsystem::kFile,
                  StrCat("a read leaves the ", size_, " bytes of ", name_))
        .WithName(name_)
        .WithBytes(out.size(), offset > size_ ? 0 : size_ - offset)
        .WithOffset(offset);
  }
  if (out.empty()) return OkStatus();
  return DoReadAt(offset, out);
}

StatusOr<ByteSourcePtr> OpenFileSource(const std::string& path) {
  MF_ASSIGN_OR_RETURN(FileHandle file, FileHandle::Open(path));
  return ByteSourcePtr(std::make_shared<FileSource>(std::move(file)));
}

StatusOr<ByteSourcePtr> OpenMappedSource(const std::string& path) {
  MF_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return ByteSourcePtr(std::make_shared<MappedSource>(std::move(file)));
}

ByteSourcePtr MakeMemorySource(absl::Span<const uint8_t> bytes, std::string name) {
  return std::make_shared<MemorySource>(bytes, std::move(name));
}

StatusOr<ByteSourcePtr> MakeReaderSource(ReadAtFn read_at, void* user_data, uint64_t size,
                                         std::string name) {
  if (read_at == nullptr) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kFile, "read_at is NULL");
  }
  return ByteSourcePtr(std::make_shared<ReaderSource>(read_at, user_data, size, std::move(name)));
}

}  // namespace minfer
