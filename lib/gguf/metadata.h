// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The metadata of a GGUF file: keys with typed values, kept compactly (all bytes in one block, a
// table of entries beside it). Read-only once parsed; any thread.
//
// Every getter fails in one of two ways, and the status names the key: NOT_FOUND when the key is
// absent, INVALID_ARGUMENT when its value has another type or does not fit. The ...Or forms take a
// default for the first, never for the second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "gguf/value_type.h"

namespace minfer {

// The strings of an array value; borrows from the Metadata. A string is bytes, UTF-8 or not;
// GetStringArray() gives only those that are.
class StringArray {
 public:
  StringArray() = default;
  // String i ends at bytes[ends[i]] and begins where the one before it ends, the first at `begin`.
  StringArray(const char* bytes, uint64_t begin, absl::Span<const uint64_t> ends)
      : bytes_(bytes), begin_(begin), ends_(ends) {}

  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](size_t i) const {
    const uint64_t begin = i == 0 ? begin_ : ends_[i - 1];
    return {bytes_ + begin, static_cast<size_t>(ends_[i] - begin)};
  }

 private:
  const char* bytes_ = nullptr;
  uint64_t begin_ = 0;
  absl::Span<const uint64_t> ends_;
};

class Metadata {
 public:
  Metadata() = default;
  Metadata(Metadata&&) noexcept = default;
  Metadata& operator=(Metadata&&) noexcept = default;
  Metadata(const Metadata&) = delete;
  Metadata& operator=(const Metadata&) = delete;

  // By index, in file order; 0 <= i < size().
  size_t size() const { return entries_.size(); }
  std::string_view key(size_t i) const;
  GgufType type(size_t i) const { return entries_[i].type; }
  // Where the pair stands in its file.
  uint64_t file_offset(size_t i) const { return entries_[i].file_offset; }
  // Of an array: its element type and length. Of any other: its own type and 1.
  GgufType element_type(size_t i) const;
  uint64_t count(size_t i) const;
  // A number, true or false, a string as it is, or "[a, b, ...]": an array's text is cut after
  // about `max_bytes`, its strings are quoted and made printable.
  std::string ValueText(size_t i, size_t max_bytes = 256) const;

  std::optional<size_t> Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key).has_value(); }

  // Integers of any width and sign are taken where the value fits.
  StatusOr<uint32_t> GetU32(std::string_view key) const;
  StatusOr<int32_t> GetI32(std::string_view key) const;
  StatusOr<uint64_t> GetU64(std::string_view key) const;
  // f32, f64 (rounded to f32) and integers.
  StatusOr<float> GetF32(std::string_view key) const;
  // Only a bool; any byte but 0 is true.
  StatusOr<bool> GetBool(std::string_view key) const;
  // Borrowed from this object. What is not UTF-8 is INVALID_ARGUMENT with its place in the file.
  StatusOr<std::string_view> GetString(std::string_view key) const;

  StatusOr<uint32_t> GetU32Or(std::string_view key, uint32_t absent) const;
  StatusOr<uint64_t> GetU64Or(std::string_view key, uint64_t absent) const;
  StatusOr<float> GetF32Or(std::string_view key, float absent) const;
  StatusOr<bool> GetBoolOr(std::string_view key, bool absent) const;
  StatusOr<std::string_view> GetStringOr(std::string_view key, std::string_view absent) const;

  bool IsArray(std::string_view key) const;
  // Integer arrays of 16, 32 and 64 bits, each value checked to fit. Arrays of u8, i8 and bool are
  // refused: where numbers are expected they are a writer's fault.
  StatusOr<std::vector<uint32_t>> GetU32Array(std::string_view key) const;
  StatusOr<std::vector<int32_t>> GetI32Array(std::string_view key) const;
  // Arrays of f32 and f64; never of integers.
  StatusOr<std::vector<float>> GetF32Array(std::string_view key) const;
  StatusOr<std::vector<bool>> GetBoolArray(std::string_view key) const;
  // Borrowed from this object.
  StatusOr<absl::Span<const uint8_t>> GetU8Array(std::string_view key) const;
  // As GetString().
  StatusOr<StringArray> GetStringArray(std::string_view key) const;

  // The value's bytes as they stand in the file, without string lengths; for copying metadata.
  // Not for arrays of strings.
  std::string_view ValueBytes(size_t i) const;
  StringArray Strings(size_t i) const;

 private:
  friend class MetadataReader;

  // 48 bytes: an entry takes at least 14 in the file, so a hostile header stays within a small
  // multiple of its own size.
  struct Entry {
    uint64_t key_begin = 0;
    uint64_t value_begin = 0;
    uint64_t count = 1;         // of a string: its bytes; of an array: its elements
    uint64_t first_string = 0;  // into string_ends_, for arrays of strings
    uint64_t file_offset = 0;   // where the key's length stands in the file
    uint32_t key_size = 0;
    GgufType type = GgufType::kU8;
    GgufType element_type = GgufType::kU8;
  };
  struct Integer;

  StatusOr<const Entry*> FindTyped(std::string_view key, GgufType type) const;
  StatusOr<const Entry*> FindArray(std::string_view key) const;
  StatusOr<const Entry*> FindOrError(std::string_view key) const;
  Status TypeError(const Entry& entry, std::string_view wanted) const;
  Status RangeError(const Entry& entry, std::string_view wanted) const;
  // `what` holds bytes that are no text, at `skip` bytes behind the start of the entry's value.
  Status TextError(const Entry& entry, const std::string& what, uint64_t skip) const;
  Integer LoadInteger(GgufType type, uint64_t at) const;
  template <typename T>
  StatusOr<T> GetInteger(std::string_view key) const;
  template <typename T>
  StatusOr<std::vector<T>> GetIntegerArray(std::string_view key) const;
  void AppendScalarText(GgufType type, uint64_t at, std::string* out) const;
  std::string_view KeyOf(const Entry& entry) const {
    return {bytes_.data() + entry.key_begin, entry.key_size};
  }
  StringArray StringsOf(const Entry& entry) const;

  std::vector<char> bytes_;            // keys and values
  std::vector<uint64_t> string_ends_;  // ends, in bytes_, of the elements of string arrays
  std::vector<Entry> entries_;
  HashMap<absl::string_view, uint32_t> index_;  // views of bytes_
};

}  // namespace minfer
