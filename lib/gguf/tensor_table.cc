// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/tensor_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr uint64_t kMaxNameBytes = 63;  // as readers with a fixed buffer of 64 have it
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxCount = std::numeric_limits<int64_t>::max();

std::string ShapeText(const TensorInfo& tensor) {
  return StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]");
}

}  // namespace

Status TensorTableReader::Read(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) MF_RETURN_IF_ERROR(ReadEntry());
  names.shrink_to_fit();
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = std::string_view(names.data() + origins_[i].name_begin,
                                       static_cast<size_t>(origins_[i].name_size));
  }
  MF_RETURN_IF_ERROR(PlaceData());
  for (size_t i = 0; i < tensors.size(); ++i) MF_RETURN_IF_ERROR(CheckInsideFile(i));
  return CheckNoOverlap();
}

Status TensorTableReader::ReadEntry() {
  Origin origin;
  MF_RETURN_IF_ERROR(ReadName(&origin));
  const std::string name(names.data() + origin.name_begin, static_cast<size_t>(origin.name_size));
  reader_.SetContext("tensor", name);
  TensorInfo tensor;
  MF_RETURN_IF_ERROR(ReadShape(&tensor));
  const uint64_t type_at = reader_.offset();
  uint32_t type_code = 0;
  MF_RETURN_IF_ERROR(reader_.Read(&type_code));
  MF_RETURN_IF_ERROR(ComputeBytes(&tensor, type_code, type_at));
  const uint64_t offset_at = reader_.offset();
  MF_RETURN_IF_ERROR(reader_.Read(&tensor.file_offset));  // made absolute by PlaceData()
  if (tensor.file_offset % alignment_ != 0) {
    return reader_.Error(StrCat("its offset ", tensor.file_offset,
                                " is not a multiple of the alignment ", alignment_),
                         offset_at);
  }
  tensors.push_back(tensor);
  origins_.push_back(origin);
  reader_.SetContext("tensor table", "");
  return OkStatus();
}

Status TensorTableReader::ReadName(Origin* origin) {
  origin->file_offset = reader_.offset();
  reader_.SetContext("tensor table", "");
  MF_RETURN_IF_ERROR(reader_.Read(&origin->name_size));
  const uint64_t size = origin->name_size;
  if (size == 0) return reader_.Error("a tensor has no name", origin->file_offset);
  if (size > reader_.remaining()) return reader_.TooShort(size);
  if (size > kMaxNameBytes) {
    return reader_.Error(
        StrCat("a tensor name of ", size, " bytes; at most ", kMaxNameBytes, " are read"),
        origin->file_offset);
  }
  origin->name_begin = names.size();
  MF_RETURN_IF_ERROR(reader_.Append(size, &names));
  const std::string_view name(names.data() + origin->name_begin, static_cast<size_t>(size));
  const bool has_control =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= 0 && c < 0x20; });
  if (has_control || !IsValidUtf8(name)) {
    return reader_.Error(StrCat("the tensor name '", Printable(name), "' is not plain text"),
                         origin->file_offset);
  }
  return OkStatus();
}

Status TensorTableReader::ReadShape(TensorInfo* tensor) {
  const uint64_t at = reader_.offset();
  uint32_t n_dims = 0;
  MF_RETURN_IF_ERROR(reader_.Read(&n_dims));
  if (n_dims > kMaxDims) {
    return reader_.Error(StrCat(n_dims, " dimensions; at most ", kMaxDims, " are read"), at);
  }
  tensor->n_dims = static_cast<int32_t>(n_dims);
  for (uint32_t i = 0; i < n_dims; ++i) {
    const uint64_t dim_at = reader_.offset();
    uint64_t dim = 0;
    MF_RETURN_IF_ERROR(reader_.Read(&dim));
    if (dim > kMaxCount) {
      return reader_.Error(StrCat("dimension ", i, " is ", dim, ", 2^63 or more"), dim_at);
    }
    tensor->dims[i] = static_cast<int64_t>(dim);
  }
  return OkStatus();
}

Status TensorTableReader::ComputeBytes(TensorInfo* tensor, uint32_t type_code, uint64_t at) {
  const ElementTraits* traits = type_code <= std::numeric_limits<int32_t>::max()
                                    ? FindElementTraits(static_cast<int32_t>(type_code))
                                    : nullptr;
  if (traits == nullptr) {
    return reader_.Error(StatusCode::kUnimplemented,
                         StrCat("tensor type ", type_code, " is unknown or was removed"), at);
  }
  tensor->type = static_cast<ElementType>(type_code);
  if (tensor->dims[0] % traits->block_elements != 0) {
    return reader_.Error(StrCat("shape ", ShapeText(*tensor), ": a row is not whole blocks of ",
                                traits->block_elements, " as ", traits->name, " needs"),
                         at);
  }
  // Zero dimensions are left out until the end: a huge one beside them must not pass.
  uint64_t count = 1;
  bool fits = true;
  bool empty = false;
  for (const int64_t dim : tensor->dims) {
    empty = empty || dim == 0;
    fits = fits && (dim == 0 || CheckedMul(count, static_cast<uint64_t>(dim), &count));
  }
  uint64_t bytes = 0;
  fits = fits && count <= kMaxCount &&
         CheckedMul(count, static_cast<uint64_t>(traits->block_bytes), &bytes);
  if (!fits) {
    return reader_.Error(StrCat("shape ", ShapeText(*tensor), " of ", traits->name,
                                " passes 2^63 elements or bytes"),
                         at);
  }
  tensor->bytes = empty ? 0 : bytes / static_cast<uint64_t>(traits->block_elements);
  return OkStatus();
}

Status TensorTableReader::PlaceData() {
  reader_.SetContext("tensor table", "");
  const bool fits = CheckedAlignUp(reader_.offset(), alignment_, &data_offset);
  if (tensors.empty()) {
    // Nothing follows, so nothing needs the padding either.
    data_offset = std::min(fits ? data_offset : file_size_, file_size_);
    return OkStatus();
  }
  if (!fits || data_offset > file_size_) {
    return reader_
        .Error(StatusCode::kDataLoss,
               StrCat("with an alignment of ", alignment_, " the data section would start at ",
                      data_offset, ", past the end of the file"),
               reader_.offset())
        .WithBytes(data_offset, file_size_);
  }
  return OkStatus();
}

Status TensorTableReader::CheckInsideFile(size_t i) {
  TensorInfo& tensor = tensors[i];
  const uint64_t section = file_size_ - data_offset;
  if (tensor.file_offset > section || tensor.bytes > section - tensor.file_offset) {
    reader_.SetContext("tensor", tensor.name);
    const uint64_t left = section - std::min(section, tensor.file_offset);
    return reader_
        .Error(StatusCode::kDataLoss,
               StrCat("it lies past the end of the file: offset ", tensor.file_offset, " and ",
                      tensor.bytes, " bytes in a data section of ", section),
               origins_[i].file_offset)
        .WithBytes(tensor.bytes, left);
  }
  tensor.file_offset += data_offset;
  return OkStatus();
}

Status TensorTableReader::CheckNoOverlap() {
  std::vector<uint32_t> order;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].bytes != 0) order.push_back(static_cast<uint32_t>(i));
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].file_offset < tensors[b].file_offset;
  });
  for (size_t k = 1; k < order.size(); ++k) {
    const TensorInfo& before = tensors[order[k - 1]];
    const TensorInfo& after = tensors[order[k]];
    if (after.file_offset - before.file_offset >= before.bytes) continue;
    reader_.SetContext("tensor", after.name);
    return reader_.Error(
        StrCat("its data at ", after.file_offset, " lies on that of tensor '", before.name, "' (",
               before.bytes, " bytes at ", before.file_offset, ")"),
        origins_[order[k]].file_offset);
  }
  return OkStatus();
}

}  // namespace minfer
