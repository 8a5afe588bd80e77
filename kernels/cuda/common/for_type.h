// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Turns an element type known at run time into a template argument: the one place that lists the
// types which the kernels decode.
#pragma once

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::kernels::cuda {

template <ElementType type>
struct TypeTag {
  static constexpr ElementType kType = type;
};

// Calls fn(TypeTag<type>()); kUnsupportedType for a type that is not decoded.
template <typename Fn>
KernelStatus ForType(ElementType type, const Fn& fn) {
  switch (type) {
    case ElementType::kF32:
      return fn(TypeTag<ElementType::kF32>());
    case ElementType::kF16:
      return fn(TypeTag<ElementType::kF16>());
    case ElementType::kBF16:
      return fn(TypeTag<ElementType::kBF16>());
    case ElementType::kQ4_0:
      return fn(TypeTag<ElementType::kQ4_0>());
    case ElementType::kQ4_1:
      return fn(TypeTag<ElementType::kQ4_1>());
    case ElementType::kQ5_0:
      return fn(TypeTag<ElementType::kQ5_0>());
    case ElementType::kQ5_1:
      return fn(TypeTag<ElementType::kQ5_1>());
    case ElementType::kQ8_0:
      return fn(TypeTag<ElementType::kQ8_0>());
    case ElementType::kQ2_K:
      return fn(TypeTag<ElementType::kQ2_K>());
    case ElementType::kQ3_K:
      return fn(TypeTag<ElementType::kQ3_K>());
    case ElementType::kQ4_K:
      return fn(TypeTag<ElementType::kQ4_K>());
    case ElementType::kQ5_K:
      return fn(TypeTag<ElementType::kQ5_K>());
    case ElementType::kQ6_K:
      return fn(TypeTag<ElementType::kQ6_K>());
    case ElementType::kIQ4_NL:
      return fn(TypeTag<ElementType::kIQ4_NL>());
    case ElementType::kIQ4_XS:
      return fn(TypeTag<ElementType::kIQ4_XS>());
    case ElementType::kMXFP4:
      return fn(TypeTag<ElementType::kMXFP4>());
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
