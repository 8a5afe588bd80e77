// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Structs that carry their size, and buffers in two-call form. A struct may come from an older host
// (shorter: the missing fields have their defaults) or a newer one (longer: what this version does
// not know must be zero).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/types/span.h"
#include "base/status.h"
#include "base/str_cat.h"
#include "capi/report.h"

namespace minfer::capi {

// No struct of ours will ever be this long: a larger number is an uninitialised struct.
inline constexpr size_t kMaxStructSize = 4096;

// The size that a struct had in version 0.1; the same as now until fields are appended.
template <typename T>
constexpr size_t FirstSize() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  return sizeof(T);
}

inline Status CheckStructSize(size_t struct_size, size_t first_size, std::string_view name) {
  if (struct_size >= first_size && struct_size <= kMaxStructSize) return OkStatus();
  return InvalidArgument(
      name, StrCat("struct_size is ", struct_size, ", and the first version had ", first_size,
                   ": set it up with its INIT macro"));
}

inline bool IsZero(const void* bytes, size_t size) {
  const auto* begin = static_cast<const uint8_t*>(bytes);
  return std::all_of(begin, begin + size, [](uint8_t byte) { return byte == 0; });
}

// Reads one struct of `struct_size` bytes.
template <typename T>
StatusOr<T> ReadSized(const T* in, size_t struct_size, std::string_view name) {
  MF_RETURN_IF_ERROR(CheckStructSize(struct_size, FirstSize<T>(), name));
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  if (struct_size > sizeof(T) && !IsZero(bytes + sizeof(T), struct_size - sizeof(T))) {
    return InvalidArgument(name, "a field that this version does not know is set");
  }
  T value{};
  std::memcpy(&value, in, std::min(struct_size, sizeof(T)));
  value.struct_size = sizeof(T);
  return value;
}

// NULL means all defaults.
template <typename T>
StatusOr<T> ReadOptions(const T* in, std::string_view name) {
  if (in != nullptr) return ReadSized(in, in->struct_size, name);
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

// Calls `use(index, const T&)` for each element of an array whose stride is the first one's size.
template <typename T, typename Use>
Status ReadArray(const T* first, size_t count, std::string_view name, Use&& use) {
  if (count == 0) return OkStatus();
  if (first == nullptr) return NullArgument(name);
  const size_t stride = first->struct_size;
  MF_RETURN_IF_ERROR(CheckStructSize(stride, FirstSize<T>(), name));
  if (stride % alignof(T) != 0) {
    return InvalidArgument(name, StrCat("struct_size ", stride, " is no stride of an array"));
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(first);
  for (size_t i = 0; i < count; ++i) {
    const T* element = reinterpret_cast<const T*>(bytes + i * stride);
    if (element->struct_size != stride) {
      return InvalidArgument(name, StrCat("element ", i, " has struct_size ", element->struct_size,
                                          ", the first one ", stride));
    }
    MF_ASSIGN_OR_RETURN(const T value, ReadSized(element, stride, name));
    MF_RETURN_IF_ERROR(use(i, value));
  }
  return OkStatus();
}

// To be asked before any work is done.
template <typename T>
Status CheckOut(const T* out, std::string_view name) {
  if (out == nullptr) return NullArgument(name);
  return CheckStructSize(out->struct_size, FirstSize<T>(), name);
}

// Writes at most out->struct_size bytes, which CheckOut has seen; the size itself stays.
template <typename T>
void WriteSized(T value, T* out) {
  const size_t size = out->struct_size;
  value.struct_size = static_cast<uint32_t>(size);
  std::memcpy(out, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) {
    std::memset(reinterpret_cast<uint8_t*>(out) + sizeof(T), 0, size - sizeof(T));
  }
}

// Zeroes a struct and sets its size: the _init functions.
template <typename T>
void InitSized(T* out, size_t struct_size) noexcept {
  if (out == nullptr || struct_size < sizeof(uint32_t) || struct_size > kMaxStructSize) return;
  std::memset(static_cast<void*>(out), 0, struct_size);
  const auto size = static_cast<uint32_t>(struct_size);
  std::memcpy(static_cast<void*>(out), &size, sizeof(size));
}

inline Status CheckIndex(std::string_view name, uint64_t index, uint64_t count) {
  if (index < count) return OkStatus();
  return Status(StatusCode::kOutOfRange, Subsystem::kApi,
                StrCat(index, " is past the end, there are ", count))
      .WithName(name);
}

inline Status CheckReserved(const void* bytes, size_t size, std::string_view name) {
  if (IsZero(bytes, size)) return OkStatus();
  return InvalidArgument(name, "a reserved field is not 0");
}

// Two-call form; asked before any work is done.
template <typename T>
Status CheckBuffer(const T* out, size_t capacity, const size_t* out_length, std::string_view name) {
  if (out_length == nullptr) return NullArgument("out_length");
  if (out == nullptr && capacity != 0) return NullArgument(name);
  return OkStatus();
}

inline Status CheckFits(size_t length, size_t capacity) {
  if (length <= capacity) return OkStatus();
  return Status(StatusCode::kOutOfRange, Subsystem::kApi,
                StrCat("the buffer holds ", capacity, ", and ", length, " are needed"));
}

template <typename T>
Status WriteBuffer(absl::Span<const T> values, T* out, size_t capacity, size_t* out_length) {
  *out_length = values.size();
  if (out == nullptr) return OkStatus();
  MF_RETURN_IF_ERROR(CheckFits(values.size(), capacity));
  if (!values.empty()) std::memcpy(out, values.data(), values.size() * sizeof(T));
  return OkStatus();
}

}  // namespace minfer::capi
