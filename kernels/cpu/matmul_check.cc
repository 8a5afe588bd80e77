// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cpu/matmul_check.h"

#include "kernels/quant/blocks.h"
#include "kernels/quant/dequantize.h"

namespace minfer::kernels {
namespace {

// Rows start on cache lines when the first one does.
constexpr size_t kRowAlignment = 64;

}  // namespace

ActivationFormat ActivationFormatFor(ElementType weight_type) {
  switch (weight_type) {
    case ElementType::kBF16:
      return ActivationFormat::kBF16;
    case ElementType::kQ4_0:
    case ElementType::kQ4_1:
    case ElementType::kQ5_0:
    case ElementType::kQ5_1:
    case ElementType::kQ8_0:
    case ElementType::kIQ4_NL:
    case ElementType::kMXFP4:
      return ActivationFormat::kQ8Block32;
    case ElementType::kQ2_K:
    case ElementType::kQ3_K:
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
    case ElementType::kQ6_K:
    case ElementType::kIQ4_XS:
      return ActivationFormat::kQ8Block256;
    default:
      return ActivationFormat::kF32;
  }
}

bool HasFastDot(ElementType weight_type) {
  switch (weight_type) {
    case ElementType::kF32:
    case ElementType::kF16:
      return true;
    default:
      return ActivationFormatFor(weight_type) != ActivationFormat::kF32;
  }
}

size_t ActivationRowBytes(ActivationFormat format, int64_t k) {
  const auto count = static_cast<size_t>(k);
  size_t bytes = 0;
  switch (format) {
    case ActivationFormat::kF32:
      bytes = count * sizeof(float);
      break;
    case ActivationFormat::kBF16:
      bytes = count * 2;
      break;
    case ActivationFormat::kQ8Block32:
      bytes = count / kBlock * sizeof(ActivationBlock32);
      break;
    case ActivationFormat::kQ8Block256:
      bytes = count / kSuperBlock * sizeof(ActivationBlock256);
      break;
  }
  return (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

KernelStatus CheckActivations(ActivationFormat format, int64_t k) {
  if (k < 0) return KernelStatus::kBadShape;
  switch (format) {
    case ActivationFormat::kF32:
    case ActivationFormat::kBF16:
      return KernelStatus::kOk;
    case ActivationFormat::kQ8Block32:
      return k % kBlock == 0 ? KernelStatus::kOk : KernelStatus::kBadShape;
    case ActivationFormat::kQ8Block256:
      return k % kSuperBlock == 0 ? KernelStatus::kOk : KernelStatus::kBadShape;
  }
  return KernelStatus::kUnsupportedType;
}

KernelStatus CheckMatMul(const MatMulArgs& args) {
  if (!CanDequantize(args.weight_type)) return KernelStatus::kUnsupportedType;
  const ElementTraits& traits = *FindElementTraits(args.weight_type);
  if (args.k < 0 || args.k % traits.block_elements != 0 || args.m < 0 || args.row_begin < 0 ||
      args.row_end < args.row_begin) {
    return KernelStatus::kBadShape;
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels
