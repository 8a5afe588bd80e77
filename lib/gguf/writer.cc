// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/writer.h"

#include <limits>

#include "base/checked_math.h"
#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 31;  // the key is a u32
constexpr uint64_t kMaxNameBytes = 63;
constexpr size_t kMaxDims = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::string_view kSplitPrefix = "split.";

Status WriterError(StatusCode code, std::string_view name, const std::string& message) {
  const std::string printable = Printable(name);
  return Status(code, Subsystem::kGguf, StrCat("tensor '", printable, "': ", message))
      .WithName(printable);
}

// Bytes of a tensor, rows without gaps; nothing where they pass 2^63.
StatusOr<uint64_t> CountBytes(std::string_view name, const ElementTraits& traits,
                              absl::Span<const int64_t> dims) {
  uint64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      return WriterError(StatusCode::kInvalidArgument, name, StrCat("a dimension is ", dim));
    }
    if (!CheckedMul(count, static_cast<uint64_t>(dim), &count)) {
      return WriterError(StatusCode::kInvalidArgument, name, "the shape is too large");
    }
  }
  const int64_t row = dims.empty() ? 1 : dims[0];
  if (row % traits.block_elements != 0) {
    return WriterError(StatusCode::kInvalidArgument, name,
                       StrCat("a row of ", row, " is not whole blocks of ", traits.name));
  }
  uint64_t bytes = 0;
  if (!CheckedMul(count / static_cast<uint64_t>(traits.block_elements),
                  static_cast<uint64_t>(traits.block_bytes), &bytes) ||
      bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return WriterError(StatusCode::kInvalidArgument, name, "the shape is too large");
  }
  return bytes;
}

GgufWriter::ByteSink CountingSink(const GgufWriter::ByteSink& sink, uint64_t* count) {
  return [&sink, count](absl::Span<const uint8_t> bytes) {
    *count += bytes.size();
    return sink(bytes);
  };
}

absl::Span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void GgufWriter::AppendString(std::string_view text, std::string* out) {
  AppendNumber<uint64_t>(text.size(), out);
  out->append(text);
}

std::string* GgufWriter::StartValue(std::string_view key, GgufType type) {
  const auto [found, is_new] = pair_index_.try_emplace(std::string(key), pairs_.size());
  if (is_new) pairs_.push_back(Pair{std::string(key), std::string()});
  std::string* value = &pairs_[found->second].value;
  value->clear();
  AppendNumber(static_cast<uint32_t>(type), value);
  return value;
}

std::string* GgufWriter::StartArray(std::string_view key, GgufType element_type, uint64_t count) {
  std::string* out = StartValue(key, GgufType::kArray);
  AppendNumber(static_cast<uint32_t>(element_type), out);
  AppendNumber(count, out);
  return out;
}

void GgufWriter::SetString(std::string_view key, std::string_view value) {
  AppendString(value, StartValue(key, GgufType::kString));
}

void GgufWriter::SetStringArray(std::string_view key, absl::Span<const std::string> values) {
  std::string* out = StartArray(key, GgufType::kString, values.size());
  for (const std::string& value : values) AppendString(value, out);
}

void GgufWriter::CopyMetadata(const Metadata& metadata) {
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = metadata.key(i);
    if (key == kAlignmentKey || key.starts_with(kSplitPrefix)) continue;
    const GgufType type = metadata.type(i);
    if (type == GgufType::kString) {
      SetString(key, metadata.ValueBytes(i));
    } else if (type != GgufType::kArray) {
      StartValue(key, type)->append(metadata.ValueBytes(i));
    } else {
      std::string* out = StartArray(key, metadata.element_type(i), metadata.count(i));
      const StringArray strings = metadata.Strings(i);
      for (size_t k = 0; k < strings.size(); ++k) AppendString(strings[k], out);
      if (metadata.element_type(i) != GgufType::kString) out->append(metadata.ValueBytes(i));
    }
  }
}

Status GgufWriter::AddTensor(std::string_view name, ElementType type,
                             absl::Span<const int64_t> dims) {
  const ElementTraits* traits = FindElementTraits(type);
  if (traits == nullptr) {
    return WriterError(StatusCode::kInvalidArgument, name,
                       StrCat("unknown type ", static_cast<int32_t>(type)));
  }
  if (name.empty() || name.size() > kMaxNameBytes || dims.size() > kMaxDims) {
    return WriterError(StatusCode::kInvalidArgument, name,
                       StrCat("a name of ", name.size(), " bytes (1 to ", kMaxNameBytes, ") and ",
                              dims.size(), " dimensions (at most ", kMaxDims, ")"));
  }
  if (tensor_index_.contains(std::string(name))) {
    return WriterError(StatusCode::kAlreadyExists, name, "it was added before");
  }
  MF_ASSIGN_OR_RETURN(const uint64_t bytes, CountBytes(name, *traits, dims));
  uint64_t end = 0;
  if (!CheckedAdd(data_bytes_, bytes, &end) || !CheckedAlignUp(end, alignment_, &end)) {
    return WriterError(StatusCode::kInvalidArgument, name, "the data section passes 2^64 bytes");
  }
  tensors_.push_back(Tensor{std::string(name), type, std::vector<int64_t>(dims.begin(), dims.end()),
                            bytes, data_bytes_});
  tensor_index_.emplace(std::string(name), tensors_.size() - 1);
  data_bytes_ = end;
  return OkStatus();
}

StatusOr<std::string> GgufWriter::Header() const {
  const bool power_of_two = alignment_ != 0 && (alignment_ & (alignment_ - 1)) == 0;
  if (!power_of_two || alignment_ < kMinGgufAlignment || alignment_ > kMaxAlignment ||
      version_ < 2 || version_ > 3) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kGguf,
                  StrCat("a GGUF file of version ", version_, " with an alignment of ", alignment_,
                         " cannot be written"));
  }
  const bool with_alignment = alignment_ != kDefaultAlignment;
  std::string out = "GGUF";
  AppendNumber(version_, &out);
  AppendNumber<uint64_t>(tensors_.size(), &out);
  AppendNumber<uint64_t>(pairs_.size() + (with_alignment ? 1 : 0), &out);
  if (with_alignment) {
    AppendString(kAlignmentKey, &out);
    AppendNumber(static_cast<uint32_t>(GgufType::kU32), &out);
    AppendNumber(static_cast<uint32_t>(alignment_), &out);
  }
  for (const Pair& pair : pairs_) {
    AppendString(pair.key, &out);
    out.append(pair.value);
  }
  for (const Tensor& tensor : tensors_) {
    AppendString(tensor.name, &out);
    AppendNumber(static_cast<uint32_t>(tensor.dims.size()), &out);
    for (const int64_t dim : tensor.dims) AppendNumber(dim, &out);
    AppendNumber(static_cast<uint32_t>(tensor.type), &out);
    AppendNumber(tensor.offset, &out);
  }
  if (!tensors_.empty()) out.append((alignment_ - out.size() % alignment_) % alignment_, '\0');
  return out;
}

Status GgufWriter::WriteTensor(size_t index, const TensorProducer& producer,
                               const ByteSink& sink) const {
  const Tensor& tensor = tensors_[index];
  uint64_t sent = 0;
  MF_RETURN_IF_ERROR(producer(index, CountingSink(sink, &sent)));
  if (sent != tensor.bytes) {
    return WriterError(StatusCode::kInternal, tensor.name,
                       StrCat(sent, " bytes were produced, it has ", tensor.bytes))
        .WithBytes(tensor.bytes, sent);
  }
  const std::string padding((alignment_ - sent % alignment_) % alignment_, '\0');
  return padding.empty() ? OkStatus() : sink(BytesOf(padding));
}

Status GgufWriter::Write(const TensorProducer& producer, const ByteSink& sink) const {
  MF_ASSIGN_OR_RETURN(const std::string header, Header());
  MF_RETURN_IF_ERROR(sink(BytesOf(header)));
  for (size_t i = 0; i < tensors_.size(); ++i) MF_RETURN_IF_ERROR(WriteTensor(i, producer, sink));
  return OkStatus();
}

StatusOr<std::string> GgufWriter::WriteToString(const TensorProducer& producer) const {
  std::string out;
  MF_RETURN_IF_ERROR(Write(producer, [&out](absl::Span<const uint8_t> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return OkStatus();
  }));
  return out;
}

}  // namespace minfer
