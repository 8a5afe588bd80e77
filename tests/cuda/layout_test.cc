// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What holds without a device: the layout of rows and the tier table.
#include <catch2/catch.hpp>

#include "backend/cuda/tier_table.h"
#include "kernels/cuda/common/kv_layout.h"
#include "kernels/cuda/common/row_layout.h"

namespace minfer::testing {
namespace {

TEST_CASE("CUDA layout: planes of a row of blocks hold its parts in order", "[cuda]") {
  // Two blocks of Q5_1: scale and min, high bits, quants.
  std::vector<uint8_t> row(48);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i);
  const int64_t bytes = kernels::cuda::WeightRowBytes(ElementType::kQ5_1, 64);
  REQUIRE(bytes == 48);
  std::vector<uint8_t> packed(static_cast<size_t>(bytes));
  REQUIRE(kernels::cuda::PackWeightRow(ElementType::kQ5_1, 64, row.data(), packed.data()) ==
          kernels::KernelStatus::kOk);
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < 16; ++i) CHECK(packed[16 * b + i] == 24 * b + 8 + i);
    for (size_t i = 0; i < 4; ++i) CHECK(packed[32 + 4 * b + i] == 24 * b + 4 + i);
    for (size_t i = 0; i < 4; ++i) CHECK(packed[40 + 4 * b + i] == 24 * b + i);
  }
}

TEST_CASE("CUDA layout: rows start at multiples of 16 bytes and cost little more", "[cuda]") {
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kF16, 5) == 16);
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kQ4_0, 4096) == 128 * 18);
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kQ4_K, 4096) == 16 * 144);
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kQ6_K, 4096) == 16 * 224);
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kQ4_K, 100) == 0);
  CHECK(kernels::cuda::WeightRowBytes(ElementType::kIQ1_S, 256) == 0);
  CHECK(kernels::cuda::KvSlabBytes(KvFormat::kQ8_0, 40) == 64 * 48 + 64 * 2 * 2);
  CHECK(kernels::cuda::KvSlabBytes(KvFormat::kF16, 64) == 64 * 64 * 2);
}

TEST_CASE("CUDA tiers: a device that the table does not know gets the row below it", "[cuda]") {
  CHECK(FindCudaTier(61) == nullptr);
  CHECK(FindCudaTier(90)->capability == 90);
  CHECK(FindCudaTier(90)->hopper);
  CHECK(FindCudaTier(88)->capability == 87);
  CHECK(FindCudaTier(103)->capability == 100);
  CHECK_FALSE(FindCudaTier(103)->hopper);
  CHECK(FindCudaTier(999)->capability == 120);
  for (int32_t capability = 70; capability < 130; ++capability) {
    const CudaTier* tier = FindCudaTier(capability);
    REQUIRE(tier != nullptr);
    CHECK(tier->capability <= capability);
  }
}

TEST_CASE("CUDA tiers: a device runs machine code of its major version, or the nearest form below",
          "[cuda]") {
  constexpr const char* kSome = "75-real,80-real,86-real,90a-real,90-real,75-virtual,90-virtual";
  CHECK(FindCodeCapability(kSome, 75) == 75);
  CHECK(FindCodeCapability(kSome, 80) == 80);
  CHECK(FindCodeCapability(kSome, 87) == 86);
  CHECK(FindCodeCapability(kSome, 90) == 90);
  CHECK(FindCodeCapability(kSome, 100) == 90);
  CHECK(FindCodeCapability(kSome, 70) == 0);
  CHECK(FindCodeCapability("75-real,75-virtual", 90) == 75);
  CHECK(FindCodeCapability("80", 86) == 80);
  CHECK(FindCodeCapability("80", 120) == 80);
  CHECK(FindCodeCapability("80-real", 90) == 0);
  CHECK(FindCodeCapability("90a-real", 90) == 90);
  CHECK(FindCodeCapability("90a", 100) == 0);
  CHECK(FindCodeCapability("", 90) == 0);
}

TEST_CASE("CUDA tiers: a forced row is never above the device's own", "[cuda]") {
  const CudaTier& hopper = *FindCudaTier(90);
  CHECK(ForceCudaTier(hopper, 0).capability == 90);
  CHECK(ForceCudaTier(hopper, 120).capability == 90);
  CHECK(ForceCudaTier(hopper, 89).capability == 89);
  CHECK(ForceCudaTier(hopper, 85).capability == 80);
  CHECK(ForceCudaTier(hopper, 1).capability == 70);
  // An 8.6 has less shared memory than an 8.0.
  CHECK(ForceCudaTier(*FindCudaTier(86), 80).capability == 80);
  CHECK(ForceCudaTier(*FindCudaTier(86), 80).shared_opt_in_bytes == 99 << 10);
}

}  // namespace
}  // namespace minfer::testing
