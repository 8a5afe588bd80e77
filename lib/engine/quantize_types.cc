// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize_types.h"

#include "base/printable.h"
#include "base/str_cat.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace minfer {
namespace {

constexpr std::string_view kKeptAsTheyAre[] = {
    "_norm.", "ffn_gate_inp", "position_embd.", "token_types.", "ssm_", "time_mix_",
};

bool IsMatrix(const TensorInfo& tensor) {
  if (tensor.n_dims < 2 || !tensor.name.ends_with(".weight")) return false;
  for (const std::string_view part : kKeptAsTheyAre) {
    if (tensor.name.find(part) != std::string_view::npos) return false;
  }
  const bool is_float = tensor.type == ElementType::kF32 || tensor.type == ElementType::kF16 ||
                        tensor.type == ElementType::kBF16;
  return is_float || FindElementTraits(tensor.type)->quantized;
}

bool FitsRow(ElementType type, int64_t row) {
  return row % FindElementTraits(type)->block_elements == 0;
}

// Rows that are not whole super-blocks take a type of blocks of 32 that is no narrower, and rows
// that are not whole blocks either take F16.
ElementType FitToRow(ElementType type, int64_t row) {
  if (FitsRow(type, row)) return type;
  ElementType other = ElementType::kF16;
  switch (type) {
    case ElementType::kQ2_K:
    case ElementType::kQ3_K:
    case ElementType::kIQ4_XS:
      other = ElementType::kIQ4_NL;
      break;
    case ElementType::kQ4_K:
      other = ElementType::kQ5_0;
      break;
    case ElementType::kQ5_K:
      other = ElementType::kQ5_1;
      break;
    case ElementType::kQ6_K:
      other = ElementType::kQ8_0;
      break;
    default:
      break;
  }
  return FitsRow(other, row) ? other : ElementType::kF16;
}

bool IsNarrower(ElementType a, ElementType b) {
  const ElementTraits& x = *FindElementTraits(a);
  const ElementTraits& y = *FindElementTraits(b);
  return x.block_bytes * y.block_elements < y.block_bytes * x.block_elements;
}

Status CheckSource(const TensorInfo& tensor, const TypeRules& rules) {
  const ElementTraits& traits = *FindElementTraits(tensor.type);
  const std::string name = Printable(tensor.name);
  if (!kernels::CanDequantize(tensor.type)) {
    return Status(StatusCode::kUnimplemented, Subsystem::kEngine,
                  StrCat("tensor '", name, "': ", traits.name, " cannot be decoded"))
        .WithName(name)
        .WithOffset(tensor.file_offset);
  }
  if (!traits.quantized || rules.allow_requantize) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                StrCat("tensor '", name, "' is ", traits.name,
                       " already, and quantising again adds error to error: allow it, or take the "
                       "model in F32, F16 or BF16"))
      .WithName(name)
      .WithOffset(tensor.file_offset);
}

}  // namespace

StatusOr<std::vector<ElementType>> ChooseTypes(const ModelFiles& files, const TypeRules& rules) {
  if (!kernels::CanQuantize(rules.type)) {
    const ElementTraits* traits = FindElementTraits(rules.type);
    return Status(traits == nullptr ? StatusCode::kInvalidArgument : StatusCode::kUnimplemented,
                  Subsystem::kEngine,
                  traits == nullptr
                      ? StrCat("tensor type ", static_cast<int32_t>(rules.type), " is not known")
                      : StrCat("tensors are not written in ", traits->name))
        .WithName("type");
  }
  const bool has_output = files.FindTensor("output.weight") != nullptr;
  const std::string_view logits = has_output ? "output.weight" : "token_embd.weight";
  std::vector<ElementType> types;
  types.reserve(files.tensors().size());
  for (const TensorInfo& tensor : files.tensors()) {
    types.push_back(tensor.type);
    if (!IsMatrix(tensor)) continue;
    const bool lifted =
        tensor.name == logits && !rules.pure && IsNarrower(rules.type, ElementType::kQ6_K);
    const ElementType type = FitToRow(lifted ? ElementType::kQ6_K : rules.type, tensor.dims[0]);
    if (type == tensor.type) continue;
    MF_RETURN_IF_ERROR(CheckSource(tensor, rules));
    types.back() = type;
  }
  return types;
}

uint32_t FileTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return 0;
    case ElementType::kF16:
      return 1;
    case ElementType::kQ4_0:
      return 2;
    case ElementType::kQ4_1:
      return 3;
    case ElementType::kQ8_0:
      return 7;
    case ElementType::kQ5_0:
      return 8;
    case ElementType::kQ5_1:
      return 9;
    case ElementType::kQ2_K:
      return 10;
    case ElementType::kQ3_K:
      return 11;
    case ElementType::kQ4_K:
      return 14;
    case ElementType::kQ5_K:
      return 16;
    case ElementType::kQ6_K:
      return 18;
    case ElementType::kIQ4_NL:
      return 25;
    case ElementType::kIQ4_XS:
      return 30;
    case ElementType::kBF16:
      return 32;
    case ElementType::kMXFP4:
      return 38;
    default:
      return 0;
  }
}

}  // namespace minfer
