// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Writes a GGUF file: metadata, the table of tensors, then their data in the same order. Tensors
// are declared first and their bytes streamed afterwards, so that a model need not fit in memory.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "gguf/gguf_file.h"
#include "gguf/metadata.h"
#include "gguf/value_type.h"
#include "kernels/quant/element_type.h"

namespace minfer {

// The GGUF type that holds a C++ number.
template <typename T>
constexpr GgufType GgufTypeOf() {
  if constexpr (std::is_same_v<T, bool>) return GgufType::kBool;
  if constexpr (std::is_same_v<T, uint8_t>) return GgufType::kU8;
  if constexpr (std::is_same_v<T, int8_t>) return GgufType::kI8;
  if constexpr (std::is_same_v<T, uint16_t>) return GgufType::kU16;
  if constexpr (std::is_same_v<T, int16_t>) return GgufType::kI16;
  if constexpr (std::is_same_v<T, uint32_t>) return GgufType::kU32;
  if constexpr (std::is_same_v<T, int32_t>) return GgufType::kI32;
  if constexpr (std::is_same_v<T, uint64_t>) return GgufType::kU64;
  if constexpr (std::is_same_v<T, int64_t>) return GgufType::kI64;
  if constexpr (std::is_same_v<T, float>) return GgufType::kF32;
  if constexpr (std::is_same_v<T, double>) return GgufType::kF64;
}

class GgufWriter {
 public:
  using ByteSink = std::function<Status(absl::Span<const uint8_t>)>;
  // Sends all bytes of tensor `index` to `out`, in one piece or several.
  using TensorProducer = std::function<Status(size_t index, const ByteSink& out)>;

  // A version of 2 or 3; an alignment that is a power of two of at least kMinGgufAlignment.
  explicit GgufWriter(uint64_t alignment = 32, uint32_t version = 3)
      : alignment_(alignment), version_(version) {}

  // Metadata stands in the order in which keys were first set; setting one again replaces its
  // value. general.alignment is written by itself where it is not 32.
  template <typename T>
  void Set(std::string_view key, T value) {
    AppendNumber(value, StartValue(key, GgufTypeOf<T>()));
  }
  void SetString(std::string_view key, std::string_view value);
  template <typename T>
  void SetArray(std::string_view key, absl::Span<const T> values) {
    std::string* out = StartArray(key, GgufTypeOf<T>(), values.size());
    for (const T& value : values) AppendNumber(value, out);
  }
  void SetStringArray(std::string_view key, absl::Span<const std::string> values);
  // All keys of `metadata`, but not general.alignment and those that say how a model is split.
  void CopyMetadata(const Metadata& metadata);

  // Declares the next tensor. INVALID_ARGUMENT for a name, shape or type that a reader would
  // refuse, ALREADY_EXISTS for a name that was declared before.
  Status AddTensor(std::string_view name, ElementType type, absl::Span<const int64_t> dims);
  size_t tensor_count() const { return tensors_.size(); }
  uint64_t tensor_bytes(size_t index) const { return tensors_[index].bytes; }

  // Sends the whole file to `sink`. INTERNAL when the producer sends another number of bytes than
  // a tensor has; a status of the producer or the sink is passed on.
  Status Write(const TensorProducer& producer, const ByteSink& sink) const;
  // The same into memory.
  StatusOr<std::string> WriteToString(const TensorProducer& producer) const;

 private:
  struct Pair {
    std::string key;
    std::string value;  // type code and value as they stand in the file
  };
  struct Tensor {
    std::string name;
    ElementType type;
    std::vector<int64_t> dims;
    uint64_t bytes;
    uint64_t offset;  // in the data section
  };

  template <typename T>
  static void AppendNumber(T value, std::string* out) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out->append(bytes, sizeof(T));
  }
  static void AppendString(std::string_view text, std::string* out);
  std::string* StartValue(std::string_view key, GgufType type);
  std::string* StartArray(std::string_view key, GgufType element_type, uint64_t count);
  StatusOr<std::string> Header() const;
  Status WriteTensor(size_t index, const TensorProducer& producer, const ByteSink& sink) const;

  const uint64_t alignment_;
  const uint32_t version_;
  std::vector<Pair> pairs_;
  HashMap<std::string, size_t> pair_index_;
  std::vector<Tensor> tensors_;
  HashMap<std::string, size_t> tensor_index_;
  uint64_t data_bytes_ = 0;  // of the data section so far, padded
};

}  // namespace minfer
