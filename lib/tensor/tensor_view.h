// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A tensor somebody else owns: what it is called, its type and shape, and where its bytes are.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "tensor/element_type.h"
#include "tensor/shape.h"

namespace minfer {

// Copies are cheap and borrow; the name and the data live as long as their owner.
class TensorView {
 public:
  TensorView() = default;
  // Checks type and shape, and that `bytes` is exactly what they ask for; the status names the
  // tensor. `data` may be null for a tensor that is planned but not loaded.
  static StatusOr<TensorView> Create(std::string_view name, ElementType type, const Shape& shape,
                                     const uint8_t* data, uint64_t bytes);

  std::string_view name() const { return name_; }
  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t row_bytes() const { return row_bytes_; }
  int64_t row_elements() const { return shape_.dim(0); }
  int64_t rows() const { return shape_.rows(); }
  // The first byte of row `i`, 0 <= i < rows().
  const uint8_t* row(int64_t i) const { return data_ + static_cast<uint64_t>(i) * row_bytes_; }

 private:
  std::string_view name_;
  ElementType type_ = ElementType::kF32;
  Shape shape_;
  const uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t row_bytes_ = 0;
};

}  // namespace minfer
