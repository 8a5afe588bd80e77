// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/reference/vector_reference.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

namespace ref = kernels::reference;

constexpr size_t kSizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 576, 1536};

// Distance from the true value in units of the last place of its f32.
double UlpError(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0.0 : HUGE_VAL;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded)) return got == rounded ? 0.0 : HUGE_VAL;
  const double ulp = std::max(static_cast<double>(std::nextafter(std::fabs(rounded), HUGE_VALF)) -
                                  static_cast<double>(std::fabs(rounded)),
                              static_cast<double>(std::numeric_limits<float>::denorm_min()));
  return std::fabs(got - want) / ulp;
}

std::vector<float> Spread(float lowest, float highest, size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    x[i] = lowest + (highest - lowest) * static_cast<float>(i) / static_cast<float>(n - 1);
  }
  return x;
}

TEST_CASE("Vector: the scalar twin of exp is within 1 ulp of the true value", "[kernels]") {
  double worst = 0.0;
  for (const float x : Spread(-87.0f, 88.7f, 400001)) {
    worst = std::max(worst, UlpError(ref::Exp(x), std::exp(static_cast<double>(x))));
  }
  CHECK(worst < 1.0);
  CHECK(ref::Exp(0.0f) == 1.0f);
  CHECK(ref::Exp(-HUGE_VALF) == 0.0f);
  CHECK(ref::Exp(HUGE_VALF) == HUGE_VALF);
  CHECK(std::isnan(ref::Exp(NAN)));
}

TEST_CASE("Vector: the scalar twin of tanh is within 2 ulp, for small values too", "[kernels]") {
  double worst = 0.0;
  for (const float x : Spread(-12.0f, 12.0f, 200001)) {
    worst = std::max(worst, UlpError(ref::Tanh(x), std::tanh(static_cast<double>(x))));
  }
  for (float x = 1e-8f; x < 1.0f; x *= 1.01f) {
    worst = std::max(worst, UlpError(ref::Tanh(x), std::tanh(static_cast<double>(x))));
  }
  CHECK(worst < 2.0);
  CHECK(ref::Tanh(HUGE_VALF) == 1.0f);
  CHECK(ref::Tanh(-HUGE_VALF) == -1.0f);
}

TEST_CASE("Vector: silu, gelu and softcap are within a few ulp in every unit", "[kernels]") {
  const std::vector<float> x = Spread(-60.0f, 60.0f, 20001);
  const std::vector<float> ones(x.size(), 1.0f);
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    std::vector<float> silu(x.size());
    std::vector<float> gelu(x.size());
    std::vector<float> cap(x.size());
    const auto n = static_cast<int64_t>(x.size());
    unit.vector->silu(x.data(), silu.data(), n);
    unit.vector->gelu_tanh(x.data(), gelu.data(), n);
    std::vector<float> gated(x.size());
    unit.vector->gelu_tanh_mul(x.data(), ones.data(), gated.data(), n);
    REQUIRE(SameBits(gelu.data(), gated.data(), x.size()));
    unit.vector->softcap(x.data(), 30.0f, cap.data(), n);
    double silu_worst = 0.0;
    double gelu_worst = 0.0;
    double cap_worst = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double value = x[i];
      silu_worst = std::max(silu_worst, UlpError(silu[i], ref::TrueSilu(value)));
      cap_worst = std::max(cap_worst, UlpError(cap[i], 30.0 * std::tanh(value / 30.0)));
      // Where gelu is tiny, the rounding of its cube is magnified by the exponential.
      gelu_worst = std::max(
          gelu_worst, std::fabs(gelu[i] - ref::TrueGeluTanh(value)) / (1e-6 + std::fabs(gelu[i])));
    }
    CAPTURE(unit.name);
    CHECK(silu_worst < 4.0);
    CHECK(cap_worst < 4.0);
    CHECK(gelu_worst < 3e-6);
  }
}

TEST_CASE("Vector: the generic unit equals the scalar twins bit for bit", "[kernels]") {
  const OpsUnit unit = RunnableOpsUnits().front();
  REQUIRE(unit.name == "generic");
  const std::vector<float> x = Spread(-110.0f, 110.0f, 9999);
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> silu(x.size());
  std::vector<float> gelu(x.size());
  std::vector<float> cap(x.size());
  const auto n = static_cast<int64_t>(x.size());
  unit.vector->silu(x.data(), silu.data(), n);
  unit.vector->gelu_tanh_mul(x.data(), ones.data(), gelu.data(), n);
  unit.vector->softcap(x.data(), 1.0f, cap.data(), n);
  for (size_t i = 0; i < x.size(); ++i) {
    const float want[] = {ref::Silu(x[i]), ref::GeluTanh(x[i]), ref::Tanh(x[i])};
    const float got[] = {silu[i], gelu[i], cap[i]};
    CAPTURE(x[i]);
    REQUIRE(SameBits(want, got, 3));
  }
}

TEST_CASE("Vector: element by element, any size, any alignment, in place", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const size_t n : kSizes) {
      for (const size_t offset : {0u, 1u, 3u}) {
        Random random(n);
        const std::vector<float> a = random.Vector(n + offset);
        const std::vector<float> b = random.Vector(n + offset);
        const auto count = static_cast<int64_t>(n);
        std::vector<float> out(n + offset + 1, 77.0f);
        CAPTURE(unit.name, n, offset);
        const auto check = [&](auto want) {
          for (size_t i = offset; i < n + offset; ++i) REQUIRE(out[i] == want(a[i], b[i]));
          REQUIRE(out[n + offset] == 77.0f);
        };
        unit.vector->add(&a[offset], &b[offset], &out[offset], count);
        check([](float x, float y) { return x + y; });
        unit.vector->mul(&a[offset], &b[offset], &out[offset], count);
        check([](float x, float y) { return x * y; });
        unit.vector->scale(&a[offset], 0.7f, &out[offset], count);
        check([](float x, float) { return x * 0.7f; });
        unit.vector->silu_mul(&a[offset], &b[offset], &out[offset], count);
        std::vector<float> fused = out;
        unit.vector->silu(&a[offset], &out[offset], count);
        unit.vector->mul(&out[offset], &b[offset], &out[offset], count);
        REQUIRE(SameBits(&fused[offset], &out[offset], n));
        unit.vector->gelu_tanh_mul(&a[offset], &b[offset], &fused[offset], count);
        unit.vector->gelu_tanh(&a[offset], &out[offset], count);
        unit.vector->mul(&out[offset], &b[offset], &out[offset], count);
        REQUIRE(SameBits(&fused[offset], &out[offset], n));
        REQUIRE(out[n + offset] == 77.0f);
      }
    }
  }
}

TEST_CASE("Vector: an element's bits do not depend on its place in the row", "[kernels][D14]") {
  const std::vector<float> x = Random(4).Vector(200);
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    std::vector<float> whole(x.size());
    std::vector<float> one(1);
    unit.vector->silu(x.data(), whole.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      unit.vector->silu(&x[i], one.data(), 1);
      REQUIRE(SameBits(&whole[i], one.data(), 1));
    }
  }
}

TEST_CASE("Vector: rms_norm against its twin", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const size_t n : kSizes) {
      Random random(n);
      std::vector<float> x = random.Vector(n + 1);
      x[n / 2 + 1] = 1e5f;  // D05: a residual beyond f16
      const std::vector<float> weight = random.Vector(n + 1);
      std::vector<float> got(n);
      std::vector<float> want(n);
      const auto count = static_cast<int64_t>(n);
      CAPTURE(unit.name, n);
      unit.vector->rms_norm(&x[1], &weight[1], got.data(), count, 1e-5f);
      ref::RmsNorm(&x[1], &weight[1], want.data(), count, 1e-5f);
      CHECK(NormalizedError(got, want) < 1e-7);
      unit.vector->rms_norm(&x[1], nullptr, got.data(), count, 1e-5f);
      ref::RmsNorm(&x[1], nullptr, want.data(), count, 1e-5f);
      CHECK(NormalizedError(got, want) < 1e-7);
      unit.vector->rms_norm(&x[1], nullptr, &x[1], count, 1e-5f);
      CHECK(SameBits(&x[1], got.data(), n));
    }
    std::vector<float> zero(64, 0.0f);
    unit.vector->rms_norm(zero.data(), nullptr, zero.data(), 64, 1e-5f);
    CHECK(zero == std::vector<float>(64, 0.0f));
  }
}

TEST_CASE("Vector: layer_norm against its twin, far from zero too", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const size_t n : kSizes) {
      Random random(n);
      std::vector<float> x = random.Vector(n + 1);
      // A mean of many deviations, as residual streams have it.
      for (float& value : x) value = value * 0.5f + 3.0f;
      const std::vector<float> weight = random.Vector(n + 1);
      const std::vector<float> bias = random.Vector(n + 3);
      std::vector<float> got(n + 1, 77.0f);
      std::vector<float> want(n + 1, 77.0f);
      const auto count = static_cast<int64_t>(n);
      CAPTURE(unit.name, n);
      unit.vector->layer_norm(&x[1], &weight[1], &bias[3], got.data(), count, 1e-5f);
      ref::LayerNorm(&x[1], &weight[1], &bias[3], want.data(), count, 1e-5f);
      // The mean is rounded to f32 once: 2^-24 of 3, where a deviation is about 0.3.
      CHECK(NormalizedError(got, want) < 1e-6);
      unit.vector->layer_norm(&x[1], &weight[1], nullptr, got.data(), count, 1e-5f);
      ref::LayerNorm(&x[1], &weight[1], nullptr, want.data(), count, 1e-5f);
      CHECK(NormalizedError(got, want) < 1e-6);
      CHECK(got[n] == 77.0f);
      unit.vector->layer_norm(&x[1], &weight[1], nullptr, &x[1], count, 1e-5f);
      CHECK(SameBits(&x[1], got.data(), n));
    }
    // No deviation: the bias alone.
    std::vector<float> flat(17, 5.0f);
    const std::vector<float> ones(17, 1.0f);
    unit.vector->layer_norm(flat.data(), ones.data(), ones.data(), flat.data(), 17, 1e-5f);
    CHECK(flat == ones);
  }
}

}  // namespace
}  // namespace minfer::testing
