// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <limits>

#include "tensor/tensor_view.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST_CASE("Shape: up to four dimensions, the rest are 1", "[tensor]") {
  const Shape shape = Shape::Of(32, 8);
  CHECK(shape.rank() == 2);
  CHECK(shape.dim(0) == 32);
  CHECK(shape.dim(3) == 1);
  CHECK(shape.rows() == 8);
  CHECK(*shape.ElementCount() == 256);
  CHECK(shape.ToString() == "[32, 8]");
  CHECK(*Shape().ElementCount() == 1);
  CHECK(*Shape::Create({32, 8}) == shape);
  CHECK_FALSE(*Shape::Create({32, 8, 1}) == shape);
  CHECK(Shape::Create({1, 1, 1, 1, 1}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Shape::Create({1, -1}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("Shape: a count that does not fit is refused, a zero beside it or not", "[tensor]") {
  CHECK(*Shape::Of(kMax).ElementCount() == kMax);
  CHECK(*Shape::Of(int64_t{1} << 31, int64_t{1} << 31).ElementCount() == int64_t{1} << 62);
  CHECK(Shape::Of(int64_t{1} << 32, int64_t{1} << 32).ElementCount().status().code() ==
        StatusCode::kOutOfRange);
  CHECK_FALSE(Shape::Of(int64_t{1} << 32, int64_t{1} << 31).ElementCount().ok());
  CHECK_FALSE(Shape::Of(int64_t{1} << 62, 0, 4).ElementCount().ok());
  CHECK(*Shape::Of(7, 0).ElementCount() == 0);
}

TEST_CASE("Shape: bytes of rows and tensors follow the type's blocks", "[tensor]") {
  CHECK(*RowBytes(ElementType::kF16, 7) == 14);
  CHECK(*RowBytes(ElementType::kQ4_1, 64) == 40);
  CHECK(*RowBytes(ElementType::kQ6_K, 512) == 420);
  CHECK(RowBytes(ElementType::kQ4_0, 33).status().code() == StatusCode::kInvalidArgument);
  CHECK(RowBytes(ElementType::kF32, -4).status().code() == StatusCode::kInvalidArgument);
  CHECK(RowBytes(static_cast<ElementType>(4), 32).status().code() == StatusCode::kUnimplemented);
  CHECK(RowBytes(ElementType::kF32, kMax).status().code() == StatusCode::kOutOfRange);
  CHECK(*TensorBytes(ElementType::kQ8_0, Shape::Of(32, 3, 2)) == 34 * 6);
  CHECK(*TensorBytes(ElementType::kF32, Shape::Of(32, 0)) == 0);
  CHECK(*TensorBytes(ElementType::kF32, Shape()) == 4);
  CHECK_FALSE(TensorBytes(ElementType::kQ4_K, Shape::Of(128, 2)).ok());
  CHECK_FALSE(TensorBytes(ElementType::kF64, Shape::Of(int64_t{1} << 31, int64_t{1} << 31)).ok());
}

TEST_CASE("TensorView: it borrows bytes that must match type and shape", "[tensor]") {
  const std::vector<uint8_t> data(18 * 4);
  const StatusOr<TensorView> view =
      TensorView::Create("w", ElementType::kQ4_0, Shape::Of(64, 2), data.data(), data.size());
  MF_REQUIRE_OK(view);
  CHECK(view->name() == "w");
  CHECK(view->row_bytes() == 36);
  CHECK(view->rows() == 2);
  CHECK(view->row_elements() == 64);
  CHECK(view->row(1) == data.data() + 36);
  const Status status =
      TensorView::Create("w", ElementType::kQ4_0, Shape::Of(64, 2), data.data(), 71).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.name() == "w");
  CHECK(status.bytes_wanted() == 72);
  CHECK(status.bytes_available() == 71);
  CHECK(TensorView::Create("w", ElementType::kQ4_K, Shape::Of(64), nullptr, 0).status().name() ==
        "w");
}

}  // namespace
}  // namespace minfer
