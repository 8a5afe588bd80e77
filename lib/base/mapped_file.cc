// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/file_handle.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

int SystemAdvice(PageAdvice advice) {
  switch (advice) {
    case PageAdvice::kSequential:
      return MADV_SEQUENTIAL;
    case PageAdvice::kRandom:
      return MADV_RANDOM;
    case PageAdvice::kWillNeed:
      return MADV_WILLNEED;
    case PageAdvice::kDontNeed:
      return MADV_DONTNEED;
    case PageAdvice::kNormal:
      break;
  }
  return MADV_NORMAL;
}

}  // namespace

StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  MF_ASSIGN_OR_RETURN(FileHandle file, FileHandle::Open(path));
  if (file.size() == 0) return MappedFile({}, std::move(file));
  if (file.size() > std::numeric_limits<size_t>::max()) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kFile,
                  StrCat(path, " does not fit the address space"))
        .WithName(path)
        .WithBytes(file.size(), std::numeric_limits<size_t>::max());
  }
  const size_t size = static_cast<size_t>(file.size());
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) return FileError(errno, "map", path).WithBytes(size, 0);
  return MappedFile({static_cast<const uint8_t*>(address), size}, std::move(file));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), file_(std::move(other.file_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

StatusOr<absl::Span<const uint8_t>> MappedFile::Range(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    return Status(StatusCode::kOutOfRange, Subsystem::kFile,
                  StrCat("a range leaves the ", bytes_.size(), " bytes of ", path()))
        .WithName(path())
        .WithBytes(size, offset > bytes_.size() ? 0 : bytes_.size() - offset)
        .WithOffset(offset);
  }
  return bytes_.subspan(offset, size);
}

Status MappedFile::Advise(uint64_t offset, uint64_t size, PageAdvice advice) const {
  MF_ASSIGN_OR_RETURN(const absl::Span<const uint8_t> range, Range(offset, size));
  if (range.empty()) return OkStatus();
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t into_page = reinterpret_cast<uintptr_t>(range.data()) % page;
  madvise(const_cast<uint8_t*>(range.data()) - into_page, range.size() + into_page,
          SystemAdvice(advice));
  return OkStatus();
}

}  // namespace minfer
