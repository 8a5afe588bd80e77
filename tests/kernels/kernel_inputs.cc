// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/kernels/kernel_inputs.h"

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

#include "kernels/quant/half.h"

namespace minfer::kernels::testing {
namespace {

bool ProcessorRuns(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return true;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c");
    case Isa::kAvx512:
      return ProcessorRuns(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    case Isa::kAvx512Vnni:
      return ProcessorRuns(Isa::kAvx512) && __builtin_cpu_supports("avx512vnni");
    case Isa::kAvx512Bf16:
      return ProcessorRuns(Isa::kAvx512Vnni) && __builtin_cpu_supports("avx512bf16");
#else
    default:
      return false;
#endif
  }
  return false;
}

void FillBlock(ElementType type, size_t bytes, Random& random, uint8_t* block) {
  if (type == ElementType::kF32) {
    const float value = random.Uniform();
    std::memcpy(block, &value, sizeof(value));
    return;
  }
  if (type == ElementType::kF16 || type == ElementType::kBF16) {
    const float value = random.Uniform();
    const uint16_t bits = type == ElementType::kF16 ? FloatToHalf(value) : FloatToBFloat16(value);
    std::memcpy(block, &bits, sizeof(bits));
    return;
  }
  for (size_t i = 0; i < bytes; ++i) block[i] = static_cast<uint8_t>(random.Bits() >> 24);
  for (size_t offset : HalfOffsets(type)) {
    const uint16_t bits = FloatToHalf(random.Uniform() * 0.1f);
    std::memcpy(block + offset, &bits, sizeof(bits));
  }
  if (type == ElementType::kIQ1_M) block[55] &= 0xbf;
  if (type == ElementType::kMXFP4) block[0] = static_cast<uint8_t>(118 + random.Bits() % 8);
}

}  // namespace

std::vector<size_t> HalfOffsets(ElementType type) {
  switch (type) {
    case ElementType::kQ4_0:
    case ElementType::kQ5_0:
    case ElementType::kQ8_0:
    case ElementType::kIQ4_NL:
    case ElementType::kIQ4_XS:
    case ElementType::kIQ1_S:
    case ElementType::kIQ2_XXS:
    case ElementType::kIQ2_XS:
    case ElementType::kIQ2_S:
    case ElementType::kIQ3_XXS:
    case ElementType::kIQ3_S:
      return {0};
    case ElementType::kTQ1_0:
      return {52};
    case ElementType::kTQ2_0:
      return {64};
    case ElementType::kQ4_1:
    case ElementType::kQ5_1:
    case ElementType::kQ4_K:
    case ElementType::kQ5_K:
      return {0, 2};
    case ElementType::kQ2_K:
      return {80, 82};
    case ElementType::kQ3_K:
      return {108};
    case ElementType::kQ6_K:
      return {208};
    default:
      return {};
  }
}

std::vector<const CpuKernels*> RunnableKernels() {
  std::vector<const CpuKernels*> runnable;
  for (int isa = 0; isa < kIsaCount; ++isa) {
    const CpuKernels* kernels = FindCpuKernels(static_cast<Isa>(isa));
    if (kernels == nullptr) {
      std::cout << "SKIPPED: unit " << isa << " is not compiled in\n";
    } else if (!ProcessorRuns(kernels->isa)) {
      std::cout << "SKIPPED: this processor cannot run " << kernels->name << "\n";
    } else {
      runnable.push_back(kernels);
    }
  }
  return runnable;
}

uint32_t Random::Bits() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 17;
  state_ ^= state_ << 5;
  return state_;
}

float Random::Uniform() { return static_cast<float>(static_cast<int32_t>(Bits())) * 0x1p-31f; }

std::vector<float> Random::Values(size_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    const float size = Uniform();
    value = Uniform() * (0.001f + size * size * size * size);
  }
  return values;
}

WeightMatrix RandomWeights(ElementType type, int64_t rows, int64_t k, size_t misalignment,
                           uint32_t seed) {
  const ElementTraits& traits = *FindElementTraits(type);
  const auto block_bytes = static_cast<size_t>(traits.block_bytes);
  WeightMatrix w;
  w.type = type;
  w.rows = rows;
  w.k = k;
  w.row_bytes = static_cast<size_t>(k / traits.block_elements) * block_bytes;
  w.misalignment = misalignment;
  // Not a byte more than the rows need, so that a sanitizer sees a read past them.
  w.storage.resize(misalignment + static_cast<size_t>(rows) * w.row_bytes);
  w.storage.shrink_to_fit();
  Random random(seed);
  for (size_t at = misalignment; at < w.storage.size(); at += block_bytes) {
    FillBlock(type, block_bytes, random, w.storage.data() + at);
  }
  return w;
}

ActivationRows MakeActivations(const MatMulKernels& kernels, ElementType weight_type,
                               const std::vector<float>& x, int64_t m, int64_t k) {
  const ActivationFormat format = kernels.activation_format(weight_type);
  ActivationRows rows;
  rows.row_bytes = kernels.activation_row_bytes(format, k);
  rows.storage.resize(static_cast<size_t>(m) * rows.row_bytes);
  for (int64_t i = 0; i < m; ++i) {
    uint8_t* row = rows.storage.data() + static_cast<size_t>(i) * rows.row_bytes;
    if (kernels.quantize_row(format, x.data() + i * k, k, row) != KernelStatus::kOk) return {};
  }
  return rows;
}

ActivationRows FloatActivations(const std::vector<float>& x, int64_t m, int64_t k) {
  ActivationRows rows;
  rows.row_bytes = static_cast<size_t>(k) * sizeof(float);
  rows.storage.resize(static_cast<size_t>(m) * rows.row_bytes);
  if (!rows.storage.empty()) std::memcpy(rows.storage.data(), x.data(), rows.storage.size());
  return rows;
}

MatMulArgs ArgsFor(const WeightMatrix& w, const ActivationRows& activations, int64_t m,
                   std::vector<float>& out) {
  out.assign(static_cast<size_t>(m * w.rows), -12345.0f);
  MatMulArgs args;
  args.weight_type = w.type;
  args.weights = w.data();
  args.weight_row_bytes = w.row_bytes;
  args.k = w.k;
  args.row_begin = 0;
  args.row_end = w.rows;
  args.activations = activations.storage.data();
  args.activation_row_bytes = activations.row_bytes;
  args.m = m;
  args.out = out.data();
  args.out_stride = w.rows;
  return args;
}

double NormalisedError(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0.0;
  double size = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += difference * difference;
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  if (size == 0.0) return error == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
  return std::sqrt(error / size);
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace minfer::kernels::testing
