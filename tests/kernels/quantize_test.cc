// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/quant/dequantize.h"
#include "tests/support/test_data.h"

namespace minfer::kernels {
namespace {

constexpr ElementType kTypes[] = {
    ElementType::kF32,  ElementType::kF16,    ElementType::kBF16,   ElementType::kQ8_0,
    ElementType::kQ4_0, ElementType::kQ4_1,   ElementType::kQ5_0,   ElementType::kQ5_1,
    ElementType::kQ2_K, ElementType::kQ3_K,   ElementType::kQ4_K,   ElementType::kQ5_K,
    ElementType::kQ6_K, ElementType::kIQ4_NL, ElementType::kIQ4_XS, ElementType::kMXFP4,
};

// The tensor of tests/data/quantize_error.py.
std::vector<float> BellShaped(int rows, int columns) {
  std::vector<float> x;
  uint32_t state = 1;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      double sum = -2.0;
      for (int draw = 0; draw < 4; ++draw) {
        state = state * 1664525u + 1013904223u;
        sum += state * 0x1p-32;
      }
      x.push_back(static_cast<float>(sum * (row % 8 == 0 ? 0.25 : 0.0625)));
    }
  }
  return x;
}

std::vector<float> ThereAndBack(ElementType type, const std::vector<float>& x) {
  const ElementTraits& traits = *FindElementTraits(type);
  const auto count = static_cast<int64_t>(x.size());
  std::vector<uint8_t> bytes(static_cast<size_t>(count / traits.block_elements) *
                             static_cast<size_t>(traits.block_bytes));
  REQUIRE(QuantizeRow(type, x.data(), bytes.data(), count) == KernelStatus::kOk);
  std::vector<float> back(x.size());
  REQUIRE(DequantizeRow(type, bytes.data(), back.data(), count) == KernelStatus::kOk);
  return back;
}

double RmsError(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  }
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST_CASE("Quantize: the error is at most that of the public package", "[kernels]") {
  const nlohmann::json want = testing::ReadJson(testing::TestDataPath("quantize_error.json"));
  const std::vector<float> x = BellShaped(want["rows"], want["columns"]);
  const double rms = RmsError(x, std::vector<float>(x.size()));
  REQUIRE(rms == Approx(want["rms"].get<double>()).epsilon(1e-12));
  size_t compared = 0;
  for (const ElementType type : kTypes) {
    const std::string name = FindElementTraits(type)->name;
    if (!want["rms_error"].contains(name)) continue;
    const double error = RmsError(x, ThereAndBack(type, x));
    const double theirs = want["rms_error"][name];
    INFO(name << " " << error << ", the package " << theirs);
    CHECK(error <= theirs * 1.0005);
    CHECK(error > theirs * 0.5);
    ++compared;
  }
  CHECK(compared == want["rms_error"].size());
}

// For the types that the package lacks: the error as a share of the tensor's root mean square.
struct Bound {
  ElementType type;
  double relative;
};
constexpr Bound kBounds[] = {
    {ElementType::kQ2_K, 0.27},    {ElementType::kQ3_K, 0.145},  {ElementType::kQ4_K, 0.072},
    {ElementType::kQ5_K, 0.0365},  {ElementType::kQ6_K, 0.0175}, {ElementType::kIQ4_NL, 0.0755},
    {ElementType::kIQ4_XS, 0.076},
};

TEST_CASE("Quantize: the relative error of the other types", "[kernels]") {
  const std::vector<float> x = BellShaped(128, 512);
  const double rms = RmsError(x, std::vector<float>(x.size()));
  for (const Bound& bound : kBounds) {
    const double relative = RmsError(x, ThereAndBack(bound.type, x)) / rms;
    INFO(FindElementTraits(bound.type)->name << " " << relative);
    CHECK(relative <= bound.relative);
    CHECK(relative >= bound.relative * 0.85);
  }
}

// What is represented exactly stays: whatever is searched for, the best fit is there.
TEST_CASE("Quantize: zeros stay zeros, and a row may be of one value", "[kernels]") {
  const std::vector<float> zeros(512, 0.0f);
  const std::vector<float> ones(512, 0.5f);
  for (const ElementType type : kTypes) {
    INFO(FindElementTraits(type)->name);
    CHECK(ThereAndBack(type, zeros) == zeros);
    for (const float value : ThereAndBack(type, ones)) CHECK(value == Approx(0.5f).epsilon(0.01));
  }
}

TEST_CASE("Quantize: large and small values give finite ones of the same sign", "[kernels]") {
  for (const float scale : {1e-38f, 1e-30f, 1e-19f, 1e-7f, 1e4f, 1e20f, 1e38f}) {
    std::vector<float> x = BellShaped(1, 512);
    for (float& value : x) value *= scale;
    for (const ElementType type : kTypes) {
      INFO(FindElementTraits(type)->name << " scale " << scale);
      const std::vector<float> back = ThereAndBack(type, x);
      bool finite = true;
      double same = 0.0;
      for (size_t i = 0; i < x.size(); ++i) {
        finite = finite && std::isfinite(back[i]);
        same += static_cast<double>(x[i]) * back[i];
      }
      CHECK(finite);
      CHECK(same >= 0.0);
    }
  }
}

TEST_CASE("Quantize: values that are not finite do no harm", "[kernels]") {
  std::vector<float> x = BellShaped(1, 512);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  x[40] = std::numeric_limits<float>::infinity();
  x[300] = -std::numeric_limits<float>::infinity();
  for (const ElementType type : kTypes) CHECK(ThereAndBack(type, x).size() == x.size());
}

TEST_CASE("Quantize: what cannot be is refused", "[kernels]") {
  const float x[64] = {};
  uint8_t bytes[512];
  CHECK_FALSE(CanQuantize(ElementType::kQ8_K));
  CHECK_FALSE(CanQuantize(static_cast<ElementType>(77)));
  CHECK(QuantizeRow(ElementType::kIQ1_S, x, bytes, 0) == KernelStatus::kUnsupportedType);
  CHECK(QuantizeRow(ElementType::kQ4_0, x, bytes, 33) == KernelStatus::kBadShape);
  CHECK(QuantizeRow(ElementType::kQ4_K, x, bytes, 64) == KernelStatus::kBadShape);
  CHECK(QuantizeRow(ElementType::kQ4_0, x, bytes, -32) == KernelStatus::kBadShape);
}

}  // namespace
}  // namespace minfer::kernels
