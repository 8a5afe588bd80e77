// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Inputs and instruction sets for the kernel tests.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::kernels::testing {

// Types with products of quantised activations, these and the float types, and the types whose rows
// are decoded.
inline constexpr ElementType kQuantizedTypes[] = {
    ElementType::kQ4_0, ElementType::kQ4_1, ElementType::kQ5_0,   ElementType::kQ5_1,
    ElementType::kQ8_0, ElementType::kQ2_K, ElementType::kQ3_K,   ElementType::kQ4_K,
    ElementType::kQ5_K, ElementType::kQ6_K, ElementType::kIQ4_NL, ElementType::kIQ4_XS,
    ElementType::kMXFP4};
inline constexpr ElementType kFastTypes[] = {
    ElementType::kF32,  ElementType::kF16,    ElementType::kBF16,   ElementType::kQ4_0,
    ElementType::kQ4_1, ElementType::kQ5_0,   ElementType::kQ5_1,   ElementType::kQ8_0,
    ElementType::kQ2_K, ElementType::kQ3_K,   ElementType::kQ4_K,   ElementType::kQ5_K,
    ElementType::kQ6_K, ElementType::kIQ4_NL, ElementType::kIQ4_XS, ElementType::kMXFP4};
inline constexpr ElementType kDecodedTypes[] = {
    ElementType::kIQ1_S, ElementType::kIQ1_M,   ElementType::kIQ2_XXS, ElementType::kIQ2_XS,
    ElementType::kIQ2_S, ElementType::kIQ3_XXS, ElementType::kIQ3_S,   ElementType::kTQ1_0,
    ElementType::kTQ2_0, ElementType::kNVFP4};
// Every type that DequantizeRow takes.
inline constexpr ElementType kDecodableTypes[] = {
    ElementType::kF32,   ElementType::kF16,     ElementType::kBF16,    ElementType::kQ4_0,
    ElementType::kQ4_1,  ElementType::kQ5_0,    ElementType::kQ5_1,    ElementType::kQ8_0,
    ElementType::kQ2_K,  ElementType::kQ3_K,    ElementType::kQ4_K,    ElementType::kQ5_K,
    ElementType::kQ6_K,  ElementType::kIQ4_NL,  ElementType::kIQ4_XS,  ElementType::kMXFP4,
    ElementType::kIQ1_S, ElementType::kIQ1_M,   ElementType::kIQ2_XXS, ElementType::kIQ2_XS,
    ElementType::kIQ2_S, ElementType::kIQ3_XXS, ElementType::kIQ3_S,   ElementType::kTQ1_0,
    ElementType::kTQ2_0, ElementType::kNVFP4};

// Where the halves of a block lie, scale first; none for types without (or with a scattered) one.
std::vector<size_t> HalfOffsets(ElementType type);

// The tables that this processor can run; prints a skip for each other one.
std::vector<const CpuKernels*> RunnableKernels();

// A small generator with the same numbers everywhere.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 1u) {}
  uint32_t Bits();
  float Uniform();  // in [-1, 1)
  // Values in [-1, 1) whose size varies by a factor of about 1000, as activations' do.
  std::vector<float> Values(size_t count);

 private:
  uint32_t state_;
};

// A matrix of blocks with all codes possible and scales finite, `rows` rows of k values. Rows are
// `row_bytes` apart and start `misalignment` bytes into the storage.
struct WeightMatrix {
  ElementType type;
  int64_t rows;
  int64_t k;
  size_t row_bytes;
  size_t misalignment;
  std::vector<uint8_t> storage;

  const uint8_t* data() const { return storage.data() + misalignment; }
};
WeightMatrix RandomWeights(ElementType type, int64_t rows, int64_t k, size_t misalignment,
                           uint32_t seed);

// Rows of activations in the format that `weight_type` wants, made by `kernels`; none when it
// refuses.
struct ActivationRows {
  size_t row_bytes = 0;
  std::vector<uint8_t> storage;
};
ActivationRows MakeActivations(const MatMulKernels& kernels, ElementType weight_type,
                               const std::vector<float>& x, int64_t m, int64_t k);
ActivationRows FloatActivations(const std::vector<float>& x, int64_t m, int64_t k);

// Arguments for all rows of w; out has m rows of w.rows floats.
MatMulArgs ArgsFor(const WeightMatrix& w, const ActivationRows& activations, int64_t m,
                   std::vector<float>& out);

// sqrt(sum((a - b)^2) / sum(b^2)); 0 when all are zero.
double NormalisedError(const std::vector<float>& a, const std::vector<float>& b);

// True when both hold the same bits.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace minfer::kernels::testing
