// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kernels/quant/decode_block.h"
#include "kernels/quant/dequantize.h"
#include "kernels/quant/half.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/test_data.h"

namespace minfer::kernels {
namespace {

using minfer::testing::FromHex;
using minfer::testing::ReadJson;
using minfer::testing::TestDataPath;
using testing::kDecodableTypes;
using testing::kFastTypes;

std::vector<float> DecodeAll(ElementType type, const std::vector<uint8_t>& bytes) {
  const ElementTraits& traits = *FindElementTraits(type);
  std::vector<float> out(bytes.size() / static_cast<size_t>(traits.block_bytes) *
                         static_cast<size_t>(traits.block_elements));
  REQUIRE(DequantizeRow(type, bytes.data(), out.data(), static_cast<int64_t>(out.size())) ==
          KernelStatus::kOk);
  return out;
}

TEST_CASE("Dequantize: D23 every published vector decodes bit for bit", "[kernels]") {
  const nlohmann::json cases = ReadJson(TestDataPath("quant_vectors.json"));
  std::vector<int> seen;
  for (const auto& item : cases) {
    const auto type = static_cast<ElementType>(item["type"].get<int>());
    INFO(item["name"].get<std::string>() << ", " << item["note"].get<std::string>());
    const std::vector<uint8_t> want = FromHex(item["want"].get<std::string>());
    const std::vector<float> got = DecodeAll(type, FromHex(item["block"].get<std::string>()));
    REQUIRE(static_cast<int>(got.size()) == item["n"].get<int>());
    REQUIRE(got.size() * sizeof(float) == want.size());
    CHECK(std::memcmp(got.data(), want.data(), want.size()) == 0);
    seen.push_back(static_cast<int>(type));
  }
  for (ElementType type : kFastTypes) {
    CHECK(std::count(seen.begin(), seen.end(), static_cast<int>(type)) > 0);
  }
}

// The blocks of iq_vectors.json, by the generator of make_iq_vectors.py.
std::vector<uint8_t> RandomBlocks(const nlohmann::json& item) {
  const auto size = static_cast<size_t>(FindElementTraits(item["type"].get<int>())->block_bytes);
  std::vector<uint8_t> bytes(item["blocks"].get<size_t>() * size);
  uint32_t state = item["seed"].get<uint32_t>();
  for (uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<uint8_t>(state >> 24);
  }
  if (item["scale_byte"].is_null()) return bytes;
  for (size_t at = item["scale_byte"].get<size_t>(); at < bytes.size(); at += size) {
    bytes[at] &= 0xbf;  // the scale is finite
  }
  return bytes;
}

std::string Hash(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

TEST_CASE("Dequantize: types with grids decode random blocks bit for bit", "[kernels]") {
  const nlohmann::json cases = ReadJson(TestDataPath("iq_vectors.json"));
  CHECK(cases.size() == 10);
  for (const auto& item : cases) {
    INFO(item["name"].get<std::string>());
    const auto type = static_cast<ElementType>(item["type"].get<int>());
    REQUIRE(CanDequantize(type));
    const std::vector<uint8_t> bytes = RandomBlocks(item);
    const std::vector<uint8_t> block = FromHex(item["block"].get<std::string>());
    REQUIRE(std::equal(block.begin(), block.end(), bytes.begin()));
    const std::vector<uint8_t> want = FromHex(item["want"].get<std::string>());
    const std::vector<float> got = DecodeAll(type, bytes);
    CHECK(std::memcmp(got.data(), want.data(), want.size()) == 0);
    CHECK(Hash(got) == item["hash"].get<std::string>());
  }
}

TEST_CASE("Dequantize: D23 zero blocks decode to zeros", "[kernels]") {
  for (ElementType type : kDecodableTypes) {
    const ElementTraits& traits = *FindElementTraits(type);
    INFO(traits.name);
    const std::vector<uint8_t> zeros(static_cast<size_t>(traits.block_bytes));
    for (float value : DecodeAll(type, zeros)) CHECK(value == 0.0f);
  }
}

TEST_CASE("Dequantize: D23 a zero scale gives zeros and a NaN scale NaNs", "[kernels]") {
  std::vector<uint8_t> block(18, 0x5a);
  block[0] = block[1] = 0;
  for (float value : DecodeAll(ElementType::kQ4_0, block)) CHECK(value == 0.0f);
  block[1] = 0x7e;
  for (float value : DecodeAll(ElementType::kQ4_0, block)) CHECK(std::isnan(value));
}

TEST_CASE("Dequantize: a count that cuts a block and an unknown type are refused", "[kernels]") {
  uint8_t bytes[512] = {};
  float out[512];
  CHECK(DequantizeRow(ElementType::kQ4_0, bytes, out, 31) == KernelStatus::kBadShape);
  CHECK(DequantizeRow(ElementType::kQ4_K, bytes, out, 32) == KernelStatus::kBadShape);
  CHECK(DequantizeRow(ElementType::kF32, bytes, out, -1) == KernelStatus::kBadShape);
  CHECK(DequantizeRow(ElementType::kNVFP4, bytes, out, 32) == KernelStatus::kBadShape);
  CHECK(DequantizeRow(ElementType::kQ8_K, bytes, out, 256) == KernelStatus::kUnsupportedType);
  CHECK_FALSE(CanDequantize(ElementType::kI8));
}

TEST_CASE("Dequantize: D13 widths that are no multiple of 256 fit 32-value types only",
          "[kernels]") {
  std::vector<uint8_t> bytes(20000);
  std::vector<float> out(20000);
  for (int64_t width : {896, 4544, 13696, 14464}) {
    INFO(width);
    CHECK(DequantizeRow(ElementType::kQ5_0, bytes.data(), out.data(), width) == KernelStatus::kOk);
    CHECK(DequantizeRow(ElementType::kQ8_0, bytes.data(), out.data(), width) == KernelStatus::kOk);
    CHECK(DequantizeRow(ElementType::kIQ4_NL, bytes.data(), out.data(), width) ==
          KernelStatus::kOk);
    CHECK(DequantizeRow(ElementType::kQ4_K, bytes.data(), out.data(), width) ==
          KernelStatus::kBadShape);
  }
}

TEST_CASE("Half: every half survives the way to f32 and back", "[kernels]") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      wrong += (bits & 0x7fff) > 0x7c00 && (FloatToHalf(value) & 0x7fff) > 0x7c00 ? 0 : 1;
    } else {
      wrong += FloatToHalf(value) == half ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Half: rounding goes to the nearest, ties to even", "[kernels]") {
  CHECK(FloatToHalf(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(FloatToHalf(1.0f + 0x3p-11f) == 0x3c02);
  CHECK(FloatToHalf(std::nextafter(1.0f + 0x1p-11f, 2.0f)) == 0x3c01);
  CHECK(FloatToHalf(65519.0f) == 0x7bff);
  CHECK(FloatToHalf(65520.0f) == 0x7c00);
  CHECK(FloatToHalf(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(FloatToHalf(0x1p-25f) == 0);
  CHECK(FloatToHalf(std::nextafter(0x1p-25f, 1.0f)) == 1);
  CHECK(FloatToBFloat16(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(FloatToBFloat16(1.0f + 0x3p-8f) == 0x3f82);
  CHECK(FloatToBFloat16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK((FloatToBFloat16(std::bit_cast<float>(0x7f800001u)) & 0x7fff) > 0x7f80);
}

}  // namespace
}  // namespace minfer::kernels
