// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Shapes of tensors: up to four dimensions, the first one being the row (fastest), as in GGUF.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "base/status.h"
#include "tensor/element_type.h"

namespace minfer {

inline constexpr int kMaxDims = 4;

// Dimensions past the rank are 1, so that dim(i) may always be asked for. The numbers are
// whatever the maker said; ElementCount() checks them.
class Shape {
 public:
  Shape() = default;  // rank 0, a scalar
  // INVALID_ARGUMENT for more than kMaxDims or a negative dimension.
  static StatusOr<Shape> Create(absl::Span<const int64_t> dims);
  // For dimensions known to be few and not negative.
  template <typename... Dims>
  static Shape Of(Dims... dims) {
    static_assert(sizeof...(dims) <= kMaxDims);
    Shape shape;
    ((shape.dims_[static_cast<size_t>(shape.rank_++)] = static_cast<int64_t>(dims)), ...);
    return shape;
  }

  int rank() const { return rank_; }
  int64_t dim(int i) const { return dims_[static_cast<size_t>(i)]; }
  absl::Span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // dims 1, 2 and 3 multiplied; call after ElementCount() has accepted the shape.
  int64_t rows() const { return dims_[1] * dims_[2] * dims_[3]; }

  // The product of all dimensions. OUT_OF_RANGE when the dimensions that are not zero pass 2^63
  // together, whether or not another one is zero.
  StatusOr<int64_t> ElementCount() const;

  std::string ToString() const;  // "[32, 8]"

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.dims_ == b.dims_;
  }

 private:
  std::array<int64_t, kMaxDims> dims_ = {1, 1, 1, 1};
  int rank_ = 0;
};

// Bytes of one row of `elements` values. INVALID_ARGUMENT when the row is not whole blocks of the
// type, UNIMPLEMENTED for a type without traits, OUT_OF_RANGE on overflow.
StatusOr<uint64_t> RowBytes(ElementType type, int64_t elements);
// Bytes of a whole tensor, rows without gaps.
StatusOr<uint64_t> TensorBytes(ElementType type, const Shape& shape);

}  // namespace minfer
