// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <limits>

#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr uint64_t kMaxCount = std::numeric_limits<int64_t>::max();

Status Error(StatusCode code, std::string message) {
  return Status(code, Subsystem::kGraph, std::move(message));
}

}  // namespace

StatusOr<Shape> Shape::Create(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxDims) {
    return Error(
        StatusCode::kInvalidArgument,
        StrCat("a shape has ", dims.size(), " dimensions, at most ", kMaxDims, " are possible"));
  }
  Shape shape;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      return Error(StatusCode::kInvalidArgument, StrCat("a dimension is ", dim));
    }
    shape.dims_[static_cast<size_t>(shape.rank_++)] = dim;
  }
  return shape;
}

StatusOr<int64_t> Shape::ElementCount() const {
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims_) {
    if (dim == 0) {
      empty = true;
    } else if (!CheckedMul(count, static_cast<uint64_t>(dim), &count) || count > kMaxCount) {
      return Error(StatusCode::kOutOfRange,
                   StrCat("shape ", ToString(), " has more than 2^63 - 1 elements"));
    }
  }
  return empty ? int64_t{0} : static_cast<int64_t>(count);
}

std::string Shape::ToString() const { return StrCat("[", absl::StrJoin(dims(), ", "), "]"); }

StatusOr<uint64_t> RowBytes(ElementType type, int64_t elements) {
  const ElementTraits* traits = FindElementTraits(type);
  if (traits == nullptr) {
    return Error(StatusCode::kUnimplemented,
                 StrCat("unknown tensor type ", static_cast<int32_t>(type)));
  }
  if (elements < 0 || elements % traits->block_elements != 0) {
    return Error(StatusCode::kInvalidArgument,
                 StrCat("a row of ", elements, " values is not whole blocks of ", traits->name,
                        " (", traits->block_elements, " values each)"));
  }
  uint64_t bytes = 0;
  if (!CheckedMul(static_cast<uint64_t>(elements / traits->block_elements),
                  static_cast<uint64_t>(traits->block_bytes), &bytes)) {
    return Error(StatusCode::kOutOfRange,
                 StrCat("a row of ", elements, " ", traits->name, " values passes 2^64 bytes"));
  }
  return bytes;
}

StatusOr<uint64_t> TensorBytes(ElementType type, const Shape& shape) {
  MF_ASSIGN_OR_RETURN(const int64_t count, shape.ElementCount());
  MF_ASSIGN_OR_RETURN(const uint64_t row_bytes, RowBytes(type, shape.dim(0)));
  if (count == 0) return uint64_t{0};
  uint64_t bytes = 0;
  if (!CheckedMul(row_bytes, static_cast<uint64_t>(shape.rows()), &bytes)) {
    return Error(StatusCode::kOutOfRange,
                 StrCat("a tensor of shape ", shape.ToString(), " passes 2^64 bytes"));
  }
  return bytes;
}

}  // namespace minfer
