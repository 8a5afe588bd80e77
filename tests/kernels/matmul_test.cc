// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The matrix products of every unit against their scalar twins.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/quant/half.h"
#include "kernels/reference/matmul_reference.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/test_data.h"

namespace minfer::kernels {
namespace {

using testing::ActivationRows;
using testing::ArgsFor;
using testing::HalfOffsets;
using testing::kDecodableTypes;
using testing::kDecodedTypes;
using testing::kFastTypes;
using testing::kQuantizedTypes;
using testing::MakeActivations;
using testing::Random;
using testing::RandomWeights;
using testing::RunnableKernels;
using testing::SameBits;
using testing::WeightMatrix;

std::vector<float> Product(const MatMulKernels& kernels, const WeightMatrix& w,
                           const std::vector<float>& x, int64_t m) {
  const ActivationRows a = MakeActivations(kernels, w.type, x, m, w.k);
  REQUIRE(!a.storage.empty());
  std::vector<float> out;
  REQUIRE(kernels.matmul(ArgsFor(w, a, m, out)) == KernelStatus::kOk);
  return out;
}

std::vector<float> TwinProduct(const MatMulKernels& kernels, const WeightMatrix& w,
                               const std::vector<float>& x, int64_t m) {
  const ActivationRows a = MakeActivations(kernels, w.type, x, m, w.k);
  REQUIRE(!a.storage.empty());
  std::vector<float> out;
  REQUIRE(ReferenceMatMul(ArgsFor(w, a, m, out)) == KernelStatus::kOk);
  return out;
}

std::vector<float> FloatProduct(const WeightMatrix& w, const std::vector<float>& x, int64_t m) {
  const ActivationRows a = testing::FloatActivations(x, m, w.k);
  std::vector<float> out;
  REQUIRE(ReferenceFloatMatMul(ArgsFor(w, a, m, out)) == KernelStatus::kOk);
  return out;
}

int64_t BlockOf(ElementType type) { return FindElementTraits(type)->block_elements; }

// Row lengths that a type can have: one block, a few, and for float types ends of all kinds.
std::vector<int64_t> Lengths(ElementType type) {
  const int64_t block = BlockOf(type);
  if (block == 1) return {1, 15, 16, 17, 100, 531};
  if (block == 32) return {32, 96, 896, 576};
  return {256, 768};
}

TEST_CASE("MatMul: every unit has the bits of the scalar twin on odd sizes", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kFastTypes) {
      for (int64_t k : Lengths(type)) {
        for (int64_t rows : {1, 7, 17}) {
          for (int64_t m : {1, 2, 3, 5, 8, 9, 19}) {
            const auto seed = static_cast<uint32_t>(k * 131 + rows * 17 + m);
            const WeightMatrix w =
                RandomWeights(type, rows, k, static_cast<size_t>(1 + rows % 2), seed);
            const std::vector<float> x = Random(seed + 1).Values(static_cast<size_t>(m * k));
            INFO(unit->name << " " << FindElementTraits(type)->name << " k=" << k
                            << " rows=" << rows << " m=" << m);
            CHECK(SameBits(Product(*unit->matmul, w, x, m), TwinProduct(*unit->matmul, w, x, m)));
          }
        }
      }
    }
  }
}

TEST_CASE("MatMul: every unit has the bits of the scalar twin on decoded rows", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kDecodedTypes) {
      INFO(unit->name << " " << FindElementTraits(type)->name);
      CHECK_FALSE(unit->matmul->has_fast_dot(type));
      const int64_t k = BlockOf(type) == 64 ? 576 : 768;
      for (int64_t m : {1, 5}) {
        const WeightMatrix w = RandomWeights(type, 7, k, 1, 13);
        const std::vector<float> x = Random(14).Values(static_cast<size_t>(m * k));
        CHECK(SameBits(Product(*unit->matmul, w, x, m), TwinProduct(*unit->matmul, w, x, m)));
      }
    }
  }
}

TEST_CASE("MatMul: every unit quantises activations to the bits of the scalar twin", "[kernels]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const CpuKernels* unit : RunnableKernels()) {
    INFO(unit->name);
    for (ActivationFormat format : {ActivationFormat::kF32, ActivationFormat::kBF16,
                                    ActivationFormat::kQ8Block32, ActivationFormat::kQ8Block256}) {
      std::vector<float> x = Random(7).Values(2048);
      std::fill_n(x.begin() + 256, 256, 0.0f);
      for (int i = 0; i < 256; ++i) x[static_cast<size_t>(512 + i)] = 0.5f * static_cast<float>(i);
      for (int i = 0; i < 256; ++i) x[static_cast<size_t>(768 + i)] *= 1e-38f;  // near the bottom
      std::fill_n(x.begin() + 1024, 256, -5000.0f);
      x[1300] = kInfinity;
      x[1600] = std::nanf("");
      x[1900] = 3e38f;
      const size_t bytes = unit->matmul->activation_row_bytes(format, 2048);
      CHECK(bytes % 64 == 0);
      std::vector<uint8_t> got(bytes, 0xee);
      std::vector<uint8_t> want(bytes, 0xee);
      REQUIRE(unit->matmul->quantize_row(format, x.data(), 2048, got.data()) == KernelStatus::kOk);
      REQUIRE(ReferenceQuantizeRow(format, x.data(), 2048, want.data()) == KernelStatus::kOk);
      CHECK(got == want);
    }
  }
}

// How far a product may be from float activations with decoded weights, as normalised error. Eight
// bits a value leave 0.3 % to 1.2 % here, most where few outputs cancel, as the random mins of Q2_K
// make them.
double Tolerance(const MatMulKernels& kernels, ElementType type) {
  if (type == ElementType::kQ2_K) return 4e-2;
  if (type == ElementType::kBF16) return 4e-3;  // activations of 8 bits, but each with its exponent
  return kernels.activation_format(type) == ActivationFormat::kF32 ? 1e-6 : 2e-2;
}

TEST_CASE("MatMul: D17 every unit forced in turn is near the float product", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kDecodableTypes) {
      for (int64_t rows : {1, 7, 17}) {
        const int64_t k = 1536;
        const int64_t m = 5;
        const WeightMatrix w = RandomWeights(type, rows, k, 0, 11);
        const std::vector<float> x = Random(12).Values(static_cast<size_t>(m * k));
        const double error =
            testing::NormalisedError(Product(*unit->matmul, w, x, m), FloatProduct(w, x, m));
        INFO(unit->name << " " << FindElementTraits(type)->name << " rows=" << rows);
        CHECK(error < Tolerance(*unit->matmul, type));
      }
    }
  }
}

TEST_CASE("MatMul: D17 all units give the same bits", "[kernels]") {
  const std::vector<const CpuKernels*> units = RunnableKernels();
  for (ElementType type : kDecodableTypes) {
    for (int64_t rows : {1, 7, 17}) {
      const WeightMatrix w = RandomWeights(type, rows, 768, 1, 21);
      const std::vector<float> x = Random(22).Values(7 * 768);
      const std::vector<float> want = Product(*units.front()->matmul, w, x, 7);
      for (const CpuKernels* unit : units) {
        INFO(unit->name << " " << FindElementTraits(type)->name << " rows=" << rows);
        CHECK(SameBits(Product(*unit->matmul, w, x, 7), want));
      }
    }
  }
}

TEST_CASE("MatMul: a row's bits depend on no neighbour and no split of the rows", "[kernels]") {
  const int64_t rows = 37;
  const int64_t k = 512;
  const int64_t most = 9;
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kFastTypes) {
      INFO(unit->name << " " << FindElementTraits(type)->name);
      const WeightMatrix w = RandomWeights(type, rows, k, 1, 31);
      const std::vector<float> x = Random(32).Values(static_cast<size_t>(most * k));
      const ActivationRows a = MakeActivations(*unit->matmul, type, x, most, k);
      std::vector<float> want;
      MatMulArgs args = ArgsFor(w, a, most, want);
      for (int64_t row = 0; row < most; ++row) {  // one activation row at a time
        MatMulArgs one = args;
        one.activations = a.storage.data() + static_cast<size_t>(row) * a.row_bytes;
        one.m = 1;
        one.out = args.out + row * rows;
        REQUIRE(unit->matmul->matmul(one) == KernelStatus::kOk);
      }
      for (int64_t m = 1; m <= most; ++m) {
        for (int64_t cut : {0, 1, 8, 15, 16, 20, 36, 37}) {
          std::vector<float> got;
          MatMulArgs part = ArgsFor(w, a, m, got);
          part.row_end = cut;
          REQUIRE(unit->matmul->matmul(part) == KernelStatus::kOk);
          part.row_begin = cut;
          part.row_end = rows;
          REQUIRE(unit->matmul->matmul(part) == KernelStatus::kOk);
          INFO("m=" << m << " cut=" << cut);
          CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
        }
      }
    }
  }
}

TEST_CASE("MatMul: nothing outside the given rows is written", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kFastTypes) {
      INFO(unit->name << " " << FindElementTraits(type)->name);
      const WeightMatrix w = RandomWeights(type, 40, 256, 0, 41);
      const std::vector<float> x = Random(42).Values(3 * 256);
      const ActivationRows a = MakeActivations(*unit->matmul, type, x, 3, 256);
      std::vector<float> out;
      MatMulArgs args = ArgsFor(w, a, 3, out);
      args.row_begin = 5;
      args.row_end = 30;
      REQUIRE(unit->matmul->matmul(args) == KernelStatus::kOk);
      int wrong = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        const bool inside = i % 40 >= 5 && i % 40 < 30;
        wrong += (out[i] == -12345.0f) == inside ? 1 : 0;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("MatMul: D04 large equal activations give finite products", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : {ElementType::kQ4_1, ElementType::kQ5_1, ElementType::kQ4_K,
                             ElementType::kQ5_K, ElementType::kQ4_0, ElementType::kQ8_0}) {
      INFO(unit->name << " " << FindElementTraits(type)->name);
      const int64_t k = BlockOf(type);
      const WeightMatrix w = RandomWeights(type, 3, k, 0, 51);
      const std::vector<float> x(static_cast<size_t>(k), 5000.0f);
      const std::vector<float> got = Product(*unit->matmul, w, x, 1);
      for (float value : got) CHECK(std::isfinite(value));
      CHECK(testing::NormalisedError(got, FloatProduct(w, x, 1)) < 1e-5);
    }
  }
}

TEST_CASE("MatMul: the extreme codes and quants overflow nothing", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kQuantizedTypes) {
      for (int byte : {0x00, 0xff, 0x7f, 0x80}) {
        WeightMatrix w = RandomWeights(type, 17, 512, 0, 61);
        const size_t block = static_cast<size_t>(FindElementTraits(type)->block_bytes);
        const uint16_t scale = FloatToHalf(0.5f);
        std::fill(w.storage.begin(), w.storage.end(), static_cast<uint8_t>(byte));
        for (size_t at = 0; at < w.storage.size(); at += block) {
          for (size_t offset : HalfOffsets(type)) {
            std::memcpy(w.storage.data() + at + offset, &scale, 2);
          }
          if (type == ElementType::kMXFP4) w.storage[at] = 127;
        }
        for (float sign : {1.0f, -1.0f}) {
          const std::vector<float> x(512, sign);
          INFO(unit->name << " " << FindElementTraits(type)->name << " byte=" << byte);
          CHECK(SameBits(Product(*unit->matmul, w, x, 1), TwinProduct(*unit->matmul, w, x, 1)));
          CHECK(testing::NormalisedError(Product(*unit->matmul, w, x, 1), FloatProduct(w, x, 1)) <
                1e-5);
        }
      }
    }
  }
}

// BF16 values near 2^-63 and activations too: products and sums around 2^-126, below which numbers
// count as zero, and some weights and activations that are themselves below it.
TEST_CASE("MatMul: BF16 products of tiny numbers have the same bits in every unit", "[kernels]") {
  const int64_t rows = 9;
  const int64_t k = 70;
  const int64_t m = 5;
  WeightMatrix w = RandomWeights(ElementType::kBF16, rows, k, 0, 91);
  Random random(92);
  std::vector<float> x(static_cast<size_t>(m * k));
  const auto tiny = [&random] {
    const uint32_t bits = random.Bits();
    const uint32_t exponent = bits >> 8 & 31u;
    const uint32_t biased = exponent == 0 ? 0 : exponent == 1 ? 1 : 59 + exponent % 8;
    return static_cast<uint16_t>((bits & 0x807fu) | biased << 7);
  };
  for (size_t at = 0; at < w.storage.size(); at += 2) {
    const uint16_t value = tiny();
    std::memcpy(w.storage.data() + at, &value, sizeof(value));
  }
  for (float& value : x) value = BFloat16ToFloat(tiny());
  const std::vector<float> want = TwinProduct(*FindCpuKernels(Isa::kGeneric)->matmul, w, x, m);
  CHECK(std::count(want.begin(), want.end(), 0.0f) < static_cast<int64_t>(want.size()));
  for (float value : want) CHECK((value == 0.0f || std::fabs(value) >= 0x1p-126f));
  for (const CpuKernels* unit : RunnableKernels()) {
    INFO(unit->name);
    CHECK(SameBits(Product(*unit->matmul, w, x, m), want));
    CHECK(0x1p-130f * static_cast<float>(m) > 0.0f);  // flushing ended with the product
  }
}

// 2^-126 less a little: what 24 bits without a lower end round up stays, the rest is zero.
TEST_CASE("MatMul: BF16 sums that round up to 2^-126 are kept, others are zero", "[kernels]") {
  const float kSmallest = 0x1p-126f;
  for (const CpuKernels* unit : RunnableKernels()) {
    // 1 * 2^-126 - 2^-76 * (factor * 2^-76), the first product by the odd value.
    for (const auto& [factor, kept] :
         {std::pair{0.5f, true}, {1.0f, true}, {2.0f, true}, {3.0f, false}, {4.0f, false}}) {
      WeightMatrix w = RandomWeights(ElementType::kBF16, 1, 2, 0, 93);
      const uint16_t weights[2] = {FloatToBFloat16(-0x1p-76f), FloatToBFloat16(1.0f)};
      std::memcpy(w.storage.data(), weights, sizeof(weights));
      const std::vector<float> x = {factor * 0x1p-76f, kSmallest};
      INFO(unit->name << " " << factor);
      CHECK(Product(*unit->matmul, w, x, 1)[0] == (kept ? kSmallest : 0.0f));
      CHECK(TwinProduct(*unit->matmul, w, x, 1)[0] == (kept ? kSmallest : 0.0f));
    }
  }
}

TEST_CASE("MatMul: activations beyond BF16 become infinity, the largest ones stay", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    WeightMatrix w = RandomWeights(ElementType::kBF16, 1, 1, 0, 94);
    const uint16_t one = FloatToBFloat16(1.0f);
    std::memcpy(w.storage.data(), &one, sizeof(one));
    CHECK(Product(*unit->matmul, w, {0x1.fep127f}, 1)[0] == 0x1.fep127f);
    CHECK(std::isinf(Product(*unit->matmul, w, {0x1.ffp127f}, 1)[0]));
    CHECK(Product(*unit->matmul, w, {1.00390625f}, 1)[0] == 1.0f);  // a tie, to even
    CHECK(Product(*unit->matmul, w, {1.01171875f}, 1)[0] == 1.015625f);
  }
}

TEST_CASE("MatMul: zero scales give zero, NaN and infinity reach the output", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (ElementType type : kFastTypes) {
      INFO(unit->name << " " << FindElementTraits(type)->name);
      WeightMatrix w = RandomWeights(type, 17, 512, 0, 71);
      std::vector<float> x = Random(72).Values(512);
      const std::vector<float> zeros(512, 0.0f);
      for (float value : Product(*unit->matmul, w, zeros, 1)) CHECK(value == 0.0f);
      x[100] = std::nanf("");
      for (float value : Product(*unit->matmul, w, x, 1)) CHECK(std::isnan(value));
      x[100] = std::numeric_limits<float>::infinity();
      for (float value : Product(*unit->matmul, w, x, 1)) CHECK_FALSE(std::isfinite(value));
      if (HalfOffsets(type).empty()) continue;  // no scale that can be NaN
      x[100] = 0.25f;
      const uint16_t nan = 0x7e01;
      std::memcpy(w.storage.data() + HalfOffsets(type)[0], &nan, 2);  // row 0 only
      const std::vector<float> got = Product(*unit->matmul, w, x, 1);
      CHECK(std::isnan(got[0]));
      for (size_t r = 1; r < got.size(); ++r) CHECK(std::isfinite(got[r]));
      std::fill(w.storage.begin(), w.storage.end(), uint8_t{0});
      for (float value : Product(*unit->matmul, w, x, 1)) CHECK(value == 0.0f);
    }
  }
}

TEST_CASE("MatMul: D13 widths that are no multiple of 256 run in 32-value types only",
          "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    for (int64_t k : {896, 4544, 13696, 14464}) {
      INFO(unit->name << " k=" << k);
      const std::vector<float> x = Random(81).Values(static_cast<size_t>(2 * k));
      for (ElementType type : kQuantizedTypes) {
        if (BlockOf(type) != 32) continue;
        const WeightMatrix w = RandomWeights(type, 3, k, 1, 82);
        INFO(FindElementTraits(type)->name);
        CHECK(SameBits(Product(*unit->matmul, w, x, 2), TwinProduct(*unit->matmul, w, x, 2)));
      }
      MatMulArgs args;
      args.weight_type = ElementType::kQ4_K;
      args.k = k;
      CHECK(unit->matmul->matmul(args) == KernelStatus::kBadShape);
      uint8_t unused[1];
      CHECK(unit->matmul->quantize_row(ActivationFormat::kQ8Block256, x.data(), k, unused) ==
            KernelStatus::kBadShape);
    }
  }
}

TEST_CASE("MatMul: bad sizes and unknown types are refused before memory is touched", "[kernels]") {
  for (const CpuKernels* unit : RunnableKernels()) {
    MatMulArgs args;
    args.k = 32;
    args.row_begin = 2;
    args.row_end = 1;
    CHECK(unit->matmul->matmul(args) == KernelStatus::kBadShape);
    args.row_end = 3;
    args.m = -1;
    CHECK(unit->matmul->matmul(args) == KernelStatus::kBadShape);
    args.m = 1;
    args.weight_type = ElementType::kQ8_K;
    CHECK(unit->matmul->matmul(args) == KernelStatus::kUnsupportedType);
  }
}

TEST_CASE("CpuKernels: each table names its own instruction set", "[kernels]") {
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    const CpuKernels* kernels = FindCpuKernels(isa);
    if (kernels == nullptr) continue;
    CHECK(kernels->isa == isa);
    REQUIRE(kernels->matmul != nullptr);
    for (ElementType type : kFastTypes) CHECK(kernels->matmul->has_fast_dot(type));
  }
}

}  // namespace
}  // namespace minfer::kernels
