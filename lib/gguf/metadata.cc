// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/metadata.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {

static_assert(std::endian::native == std::endian::little, "values are kept in file order");

// A number of any integer type: `bits` holds it, sign-extended when it is negative.
struct Metadata::Integer {
  bool valid = false;
  bool negative = false;
  uint64_t bits = 0;

  template <typename T>
  bool Fits() const {
    if (!valid) return false;
    if (!negative) return bits <= static_cast<uint64_t>(std::numeric_limits<T>::max());
    return std::is_signed_v<T> &&
           static_cast<int64_t>(bits) >= static_cast<int64_t>(std::numeric_limits<T>::min());
  }
};

namespace {

template <typename T>
T Load(const std::vector<char>& bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <typename T>
constexpr std::string_view IntegerName() {
  if constexpr (std::is_same_v<T, uint32_t>) return "an unsigned 32-bit integer";
  if constexpr (std::is_same_v<T, int32_t>) return "a 32-bit integer";
  return "an unsigned 64-bit integer";
}

bool IsWideInteger(GgufType type) {
  switch (type) {
    case GgufType::kU16:
    case GgufType::kI16:
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kU64:
    case GgufType::kI64:
      return true;
    default:
      return false;
  }
}

template <typename T>
StatusOr<T> OrAbsent(StatusOr<T> value, T absent) {
  if (!value.ok() && value.status().code() == StatusCode::kNotFound) return absent;
  return value;
}

}  // namespace

std::string_view Metadata::key(size_t i) const { return KeyOf(entries_[i]); }

GgufType Metadata::element_type(size_t i) const {
  const Entry& entry = entries_[i];
  return entry.type == GgufType::kArray ? entry.element_type : entry.type;
}

uint64_t Metadata::count(size_t i) const {
  const Entry& entry = entries_[i];
  return entry.type == GgufType::kArray ? entry.count : 1;
}

std::optional<size_t> Metadata::Find(std::string_view key) const {
  const auto found = index_.find(absl::string_view(key.data(), key.size()));
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

bool Metadata::IsArray(std::string_view key) const {
  const std::optional<size_t> i = Find(key);
  return i.has_value() && entries_[*i].type == GgufType::kArray;
}

StatusOr<const Metadata::Entry*> Metadata::FindOrError(std::string_view key) const {
  const std::optional<size_t> i = Find(key);
  if (i.has_value()) return &entries_[*i];
  return Status(StatusCode::kNotFound, Subsystem::kGguf,
                StrCat("the file has no key '", Printable(key), "'"))
      .WithName(Printable(key));
}

Status Metadata::TypeError(const Entry& entry, std::string_view wanted) const {
  const std::string name = Printable(KeyOf(entry));
  std::string found(TraitsOf(entry.type).name);
  if (entry.type == GgufType::kArray) {
    found = StrCat("array of ", entry.count, " ", TraitsOf(entry.element_type).name);
  }
  return Status(StatusCode::kInvalidArgument, Subsystem::kGguf,
                StrCat("key '", name, "' is of type ", found, ", ", wanted, " is needed"))
      .WithName(name)
      .WithOffset(entry.file_offset);
}

Status Metadata::RangeError(const Entry& entry, std::string_view wanted) const {
  const std::string name = Printable(KeyOf(entry));
  return Status(StatusCode::kInvalidArgument, Subsystem::kGguf,
                StrCat("key '", name, "' holds a value that is not ", wanted, ": ",
                       ValueText(static_cast<size_t>(&entry - entries_.data()), 64)))
      .WithName(name)
      .WithOffset(entry.file_offset);
}

Status Metadata::TextError(const Entry& entry, const std::string& what, uint64_t skip) const {
  const std::string name = Printable(KeyOf(entry));
  // Before the value stand the key with its length, and the type.
  const uint64_t value_at = entry.file_offset + 8 + entry.key_size + 4;
  return Status(StatusCode::kInvalidArgument, Subsystem::kGguf,
                StrCat("key '", name, "': ", what, " is not UTF-8"))
      .WithName(name)
      .WithOffset(value_at + skip);
}

StatusOr<const Metadata::Entry*> Metadata::FindTyped(std::string_view key, GgufType type) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindOrError(key));
  if (entry->type != type) return TypeError(*entry, StrCat("a ", TraitsOf(type).name));
  return entry;
}

StatusOr<const Metadata::Entry*> Metadata::FindArray(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindOrError(key));
  if (entry->type != GgufType::kArray) return TypeError(*entry, "an array");
  return entry;
}

Metadata::Integer Metadata::LoadInteger(GgufType type, uint64_t at) const {
  const auto from_signed = [](int64_t value) {
    return Integer{true, value < 0, static_cast<uint64_t>(value)};
  };
  switch (type) {
    case GgufType::kU8:
      return {true, false, Load<uint8_t>(bytes_, at)};
    case GgufType::kU16:
      return {true, false, Load<uint16_t>(bytes_, at)};
    case GgufType::kU32:
      return {true, false, Load<uint32_t>(bytes_, at)};
    case GgufType::kU64:
      return {true, false, Load<uint64_t>(bytes_, at)};
    case GgufType::kI8:
      return from_signed(Load<int8_t>(bytes_, at));
    case GgufType::kI16:
      return from_signed(Load<int16_t>(bytes_, at));
    case GgufType::kI32:
      return from_signed(Load<int32_t>(bytes_, at));
    case GgufType::kI64:
      return from_signed(Load<int64_t>(bytes_, at));
    default:
      return {};
  }
}

template <typename T>
StatusOr<T> Metadata::GetInteger(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindOrError(key));
  const Integer value = LoadInteger(entry->type, entry->value_begin);
  if (!value.valid) return TypeError(*entry, IntegerName<T>());
  if (!value.Fits<T>()) return RangeError(*entry, IntegerName<T>());
  return static_cast<T>(value.bits);
}

template <typename T>
StatusOr<std::vector<T>> Metadata::GetIntegerArray(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindArray(key));
  if (!IsWideInteger(entry->element_type)) {
    return TypeError(*entry, "an array of 32-bit integers");
  }
  const uint64_t stride = TraitsOf(entry->element_type).size;
  std::vector<T> values(static_cast<size_t>(entry->count));
  for (size_t i = 0; i < values.size(); ++i) {
    const Integer value = LoadInteger(entry->element_type, entry->value_begin + i * stride);
    if (!value.Fits<T>()) return RangeError(*entry, IntegerName<T>());
    values[i] = static_cast<T>(value.bits);
  }
  return values;
}

StatusOr<uint32_t> Metadata::GetU32(std::string_view key) const {
  return GetInteger<uint32_t>(key);
}
StatusOr<int32_t> Metadata::GetI32(std::string_view key) const { return GetInteger<int32_t>(key); }
StatusOr<uint64_t> Metadata::GetU64(std::string_view key) const {
  return GetInteger<uint64_t>(key);
}

StatusOr<float> Metadata::GetF32(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindOrError(key));
  if (entry->type == GgufType::kF32) return Load<float>(bytes_, entry->value_begin);
  if (entry->type == GgufType::kF64) {
    return static_cast<float>(Load<double>(bytes_, entry->value_begin));
  }
  const Integer value = LoadInteger(entry->type, entry->value_begin);
  if (!value.valid) return TypeError(*entry, "a number");
  return value.negative ? static_cast<float>(static_cast<int64_t>(value.bits))
                        : static_cast<float>(value.bits);
}

StatusOr<bool> Metadata::GetBool(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindTyped(key, GgufType::kBool));
  return Load<uint8_t>(bytes_, entry->value_begin) != 0;
}

StatusOr<std::string_view> Metadata::GetString(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindTyped(key, GgufType::kString));
  const std::string_view text(bytes_.data() + entry->value_begin,
                              static_cast<size_t>(entry->count));
  if (!IsValidUtf8(text)) {
    return TextError(*entry, StrCat("the text '", Printable(text), "'"), sizeof(uint64_t));
  }
  return text;
}

StatusOr<uint32_t> Metadata::GetU32Or(std::string_view key, uint32_t absent) const {
  return OrAbsent(GetU32(key), absent);
}
StatusOr<uint64_t> Metadata::GetU64Or(std::string_view key, uint64_t absent) const {
  return OrAbsent(GetU64(key), absent);
}
StatusOr<float> Metadata::GetF32Or(std::string_view key, float absent) const {
  return OrAbsent(GetF32(key), absent);
}
StatusOr<bool> Metadata::GetBoolOr(std::string_view key, bool absent) const {
  return OrAbsent(GetBool(key), absent);
}
StatusOr<std::string_view> Metadata::GetStringOr(std::string_view key,
                                                 std::string_view absent) const {
  return OrAbsent(GetString(key), absent);
}

StatusOr<std::vector<uint32_t>> Metadata::GetU32Array(std::string_view key) const {
  return GetIntegerArray<uint32_t>(key);
}

StatusOr<std::vector<int32_t>> Metadata::GetI32Array(std::string_view key) const {
  return GetIntegerArray<int32_t>(key);
}

StatusOr<std::vector<float>> Metadata::GetF32Array(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindArray(key));
  const bool narrow = entry->element_type == GgufType::kF32;
  if (!narrow && entry->element_type != GgufType::kF64) {
    return TypeError(*entry, "an array of f32");
  }
  std::vector<float> values(static_cast<size_t>(entry->count));
  if (values.empty()) return values;
  if (narrow) {
    std::memcpy(values.data(), bytes_.data() + entry->value_begin, values.size() * sizeof(float));
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(Load<double>(bytes_, entry->value_begin + i * sizeof(double)));
  }
  return values;
}

StatusOr<std::vector<bool>> Metadata::GetBoolArray(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindArray(key));
  if (entry->element_type != GgufType::kBool) return TypeError(*entry, "an array of bool");
  std::vector<bool> values(static_cast<size_t>(entry->count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = bytes_[entry->value_begin + i] != 0;
  return values;
}

StatusOr<absl::Span<const uint8_t>> Metadata::GetU8Array(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindArray(key));
  if (entry->element_type != GgufType::kU8) return TypeError(*entry, "an array of u8");
  return absl::Span<const uint8_t>(
      reinterpret_cast<const uint8_t*>(bytes_.data()) + entry->value_begin,
      static_cast<size_t>(entry->count));
}

StatusOr<StringArray> Metadata::GetStringArray(std::string_view key) const {
  MF_ASSIGN_OR_RETURN(const Entry* entry, FindArray(key));
  if (entry->element_type != GgufType::kString) return TypeError(*entry, "an array of strings");
  const StringArray strings = StringsOf(*entry);
  uint64_t skip = sizeof(uint32_t) + sizeof(uint64_t);  // the elements' type and number
  for (size_t i = 0; i < strings.size(); ++i) {
    skip += sizeof(uint64_t);
    if (!IsValidUtf8(strings[i])) {
      return TextError(*entry, StrCat("element ", i, ", '", Printable(strings[i]), "',"), skip);
    }
    skip += strings[i].size();
  }
  return strings;
}

StringArray Metadata::StringsOf(const Entry& entry) const {
  return StringArray(
      bytes_.data(), entry.value_begin,
      absl::MakeConstSpan(string_ends_)
          .subspan(static_cast<size_t>(entry.first_string), static_cast<size_t>(entry.count)));
}

StringArray Metadata::Strings(size_t i) const {
  const Entry& entry = entries_[i];
  const bool is_strings = entry.type == GgufType::kArray && entry.element_type == GgufType::kString;
  return is_strings ? StringsOf(entry) : StringArray();
}

}  // namespace minfer
