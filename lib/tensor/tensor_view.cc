// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_view.h"

#include "base/str_cat.h"

namespace minfer {

StatusOr<TensorView> TensorView::Create(std::string_view name, ElementType type, const Shape& shape,
                                        const uint8_t* data, uint64_t bytes) {
  StatusOr<uint64_t> wanted = TensorBytes(type, shape);
  if (!wanted.ok()) return std::move(wanted).status().WithName(name);
  if (*wanted != bytes) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kGraph,
                  StrCat("shape ", shape.ToString(), " of ", FindElementTraits(type)->name,
                         " needs ", *wanted, " bytes, the view has ", bytes))
        .WithName(name)
        .WithBytes(*wanted, bytes);
  }
  TensorView view;
  view.name_ = name;
  view.type_ = type;
  view.shape_ = shape;
  view.data_ = data;
  view.bytes_ = bytes;
  MF_ASSIGN_OR_RETURN(view.row_bytes_, RowBytes(type, shape.dim(0)));
  return view;
}

}  // namespace minfer
