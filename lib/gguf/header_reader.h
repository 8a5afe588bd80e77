// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads a header front to back from a ByteSource, never past its end. What it appends to grows as
// bytes arrive, so a length that lies costs no memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "base/byte_source.h"
#include "base/status.h"

namespace minfer {

class HeaderReader {
 public:
  explicit HeaderReader(const ByteSource& source);

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return source_.size() - offset_; }

  // What is being read, for messages: "the value of key", "general.alignment". The second is bytes
  // from the file, made printable when a message needs it; it must live until the next call.
  void SetContext(std::string_view what, std::string_view name) {
    what_ = what;
    name_ = name;
  }

  // A little-endian number.
  template <typename T>
  Status Read(T* value) {
    static_assert(std::is_arithmetic_v<T>);
    const uint8_t* bytes = nullptr;
    MF_RETURN_IF_ERROR(Take(sizeof(T), &bytes));
    std::memcpy(value, bytes, sizeof(T));
    return OkStatus();
  }
  // Appends the next `size` bytes to `out`.
  Status Append(uint64_t size, std::vector<char>* out);

  // INVALID_ARGUMENT (or another code) about what is being read, at `at`.
  Status Error(StatusCode code, const std::string& message, uint64_t at) const;
  Status Error(const std::string& message, uint64_t at) const {
    return Error(StatusCode::kInvalidArgument, message, at);
  }
  // DATA_LOSS: `wanted` bytes are needed and remaining() are left.
  Status TooShort(uint64_t wanted) const;

 private:
  static constexpr size_t kWindowBytes = size_t{64} << 10;

  // The next `size` bytes, at most kWindowBytes, in place; valid until the next call.
  Status Take(size_t size, const uint8_t** bytes);

  const ByteSource& source_;
  uint64_t offset_ = 0;
  std::string_view what_;
  std::string_view name_;
  absl::Span<const uint8_t> window_;  // bytes of the source from window_offset_ on
  uint64_t window_offset_ = 0;
  std::vector<uint8_t> buffer_;  // backs the window of a source that is not mapped
};

}  // namespace minfer
