// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/element_type.h"

namespace minfer {
namespace {

struct Row {
  ElementType type;
  ElementTraits traits;
};

constexpr Row kRows[] = {
    {ElementType::kF32, {"F32", 1, 4, false}},
    {ElementType::kF16, {"F16", 1, 2, false}},
    {ElementType::kQ4_0, {"Q4_0", 32, 18, true}},
    {ElementType::kQ4_1, {"Q4_1", 32, 20, true}},
    {ElementType::kQ5_0, {"Q5_0", 32, 22, true}},
    {ElementType::kQ5_1, {"Q5_1", 32, 24, true}},
    {ElementType::kQ8_0, {"Q8_0", 32, 34, true}},
    {ElementType::kQ8_1, {"Q8_1", 32, 36, true}},
    {ElementType::kQ2_K, {"Q2_K", 256, 84, true}},
    {ElementType::kQ3_K, {"Q3_K", 256, 110, true}},
    {ElementType::kQ4_K, {"Q4_K", 256, 144, true}},
    {ElementType::kQ5_K, {"Q5_K", 256, 176, true}},
    {ElementType::kQ6_K, {"Q6_K", 256, 210, true}},
    {ElementType::kQ8_K, {"Q8_K", 256, 292, true}},
    {ElementType::kIQ2_XXS, {"IQ2_XXS", 256, 66, true}},
    {ElementType::kIQ2_XS, {"IQ2_XS", 256, 74, true}},
    {ElementType::kIQ3_XXS, {"IQ3_XXS", 256, 98, true}},
    {ElementType::kIQ1_S, {"IQ1_S", 256, 50, true}},
    {ElementType::kIQ4_NL, {"IQ4_NL", 32, 18, true}},
    {ElementType::kIQ3_S, {"IQ3_S", 256, 110, true}},
    {ElementType::kIQ2_S, {"IQ2_S", 256, 82, true}},
    {ElementType::kIQ4_XS, {"IQ4_XS", 256, 136, true}},
    {ElementType::kI8, {"I8", 1, 1, false}},
    {ElementType::kI16, {"I16", 1, 2, false}},
    {ElementType::kI32, {"I32", 1, 4, false}},
    {ElementType::kI64, {"I64", 1, 8, false}},
    {ElementType::kF64, {"F64", 1, 8, false}},
    {ElementType::kIQ1_M, {"IQ1_M", 256, 56, true}},
    {ElementType::kBF16, {"BF16", 1, 2, false}},
    {ElementType::kTQ1_0, {"TQ1_0", 256, 54, true}},
    {ElementType::kTQ2_0, {"TQ2_0", 256, 66, true}},
    {ElementType::kMXFP4, {"MXFP4", 32, 17, true}},
    {ElementType::kNVFP4, {"NVFP4", 64, 36, true}},
    {ElementType::kQ1_0, {"Q1_0", 128, 18, true}},
    {ElementType::kQ2_0, {"Q2_0", 64, 18, true}},
};

}  // namespace

const ElementTraits* FindElementTraits(int32_t code) {
  for (const Row& row : kRows) {
    if (static_cast<int32_t>(row.type) == code) return &row.traits;
  }
  return nullptr;
}

}  // namespace minfer
