// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file_handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/str_cat.h"

namespace minfer {
namespace {

// The messages are ours: strerror() follows the locale and is not safe between threads.
struct ErrorRow {
  int number;
  StatusCode code;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
    {ENOENT, StatusCode::kNotFound, "no such file"},
    {ENOTDIR, StatusCode::kNotFound, "a part of the path is not a folder"},
    {EACCES, StatusCode::kPermissionDenied, "permission denied"},
    {EPERM, StatusCode::kPermissionDenied, "operation not permitted"},
    {EISDIR, StatusCode::kInvalidArgument, "it is a folder"},
    {ENAMETOOLONG, StatusCode::kInvalidArgument, "the path is too long"},
    {ELOOP, StatusCode::kInvalidArgument, "too many symbolic links"},
    {ENXIO, StatusCode::kInvalidArgument, "it is not a regular file"},
    {EMFILE, StatusCode::kResourceExhausted, "the process has too many open files"},
    {ENFILE, StatusCode::kResourceExhausted, "the system has too many open files"},
    {ENOMEM, StatusCode::kResourceExhausted, "the system has no memory left"},
    {EIO, StatusCode::kDataLoss, "the device reports a read error"},
};

// One call never asks for more: some systems refuse or shorten reads of 2 GiB and more.
constexpr size_t kMaxReadBytes = size_t{1} << 30;

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
}

const char* KindOfFile(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Status FileError(int error_number, const std::string& action, const std::string& path) {
  StatusCode code = StatusCode::kUnavailable;
  std::string reason = StrCat("system error ", error_number);
  for (const ErrorRow& row : kErrors) {
    if (row.number != error_number) continue;
    code = row.code;
    reason = row.text;
  }
  return Status(code, Subsystem::kFile, StrCat("cannot ", action, " ", path, ": ", reason))
      .WithName(path);
}

StatusOr<FileHandle> FileHandle::Open(const std::string& path) {
  if (path.empty()) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kFile, "the path is empty");
  }
  int descriptor;
  do {
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return FileError(errno, "open", path);
  FileHandle file(descriptor, 0, path);
  struct stat info;
  if (fstat(descriptor, &info) != 0) return FileError(errno, "examine", path);
  if (!S_ISREG(info.st_mode)) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kFile,
                  StrCat(path, " is ", KindOfFile(info.st_mode), ", a regular file is needed"))
        .WithName(path);
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  file.modified_ns_ = ModifiedNs(info);
  return file;
}

FileHandle::FileHandle(FileHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      modified_ns_(other.modified_ns_),
      path_(std::move(other.path_)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(modified_ns_, other.modified_ns_);
  path_.swap(other.path_);
  return *this;
}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status FileHandle::ReadAt(uint64_t offset, absl::Span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const size_t wanted = std::min(out.size() - done, kMaxReadBytes);
    const ssize_t got =
        pread(descriptor_, out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "read", path_).WithOffset(offset + done);
    }
    if (got == 0) {
      return Status(StatusCode::kDataLoss, Subsystem::kFile,
                    StrCat(path_, " ended early: it has become shorter since it was opened"))
          .WithName(path_)
          .WithBytes(out.size(), done)
          .WithOffset(offset + done);
    }
    done += static_cast<size_t>(got);
  }
  return OkStatus();
}

Status FileHandle::CheckUnchanged() const {
  struct stat info;
  if (fstat(descriptor_, &info) != 0) return FileError(errno, "examine", path_);
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size == size_ && ModifiedNs(info) == modified_ns_) return OkStatus();
  return Status(StatusCode::kDataLoss, Subsystem::kFile,
                size == size_ ? StrCat(path_, " was written to while it was read")
                              : StrCat(path_, " changed while it was read: it has ", size,
                                       " bytes, and had ", size_, " when it was opened"))
      .WithName(path_)
      .WithBytes(size_, size)
      .WithOffset(size < size_ ? size : 0);
}

}  // namespace minfer
