// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/header_reader.h"

#include <algorithm>

#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {

HeaderReader::HeaderReader(const ByteSource& source) : source_(source), window_(source.mapped()) {}

Status HeaderReader::Error(StatusCode code, const std::string& message, uint64_t at) const {
  std::string place(what_);
  const std::string name = Printable(name_);
  if (!name.empty()) place += StrCat(" '", name, "'");
  return Status(code, Subsystem::kGguf,
                StrCat(Printable(source_.name(), 200), ": ", place, ": ", message))
      .WithName(name.empty() ? Printable(source_.name()) : name)
      .WithOffset(at);
}

Status HeaderReader::TooShort(uint64_t wanted) const {
  return Error(StatusCode::kDataLoss,
               StrCat("the file is too short: ", wanted, " bytes are needed at ", offset_,
                      ", the file has ", source_.size()),
               offset_)
      .WithBytes(wanted, remaining());
}

Status HeaderReader::Take(size_t size, const uint8_t** bytes) {
  if (size > remaining()) return TooShort(size);
  const uint64_t skip = offset_ - window_offset_;
  if (skip > window_.size() || size > window_.size() - skip) {
    buffer_.resize(static_cast<size_t>(std::min<uint64_t>(kWindowBytes, remaining())));
    MF_RETURN_IF_ERROR(source_.ReadAt(offset_, absl::MakeSpan(buffer_)));
    window_ = buffer_;
    window_offset_ = offset_;
  }
  *bytes = window_.data() + (offset_ - window_offset_);
  offset_ += size;
  return OkStatus();
}

Status HeaderReader::Append(uint64_t size, std::vector<char>* out) {
  if (size > remaining()) return TooShort(size);
  while (size != 0) {
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(size, kWindowBytes));
    const uint8_t* bytes = nullptr;
    MF_RETURN_IF_ERROR(Take(piece, &bytes));
    out->insert(out->end(), bytes, bytes + piece);
    size -= piece;
  }
  return OkStatus();
}

}  // namespace minfer
