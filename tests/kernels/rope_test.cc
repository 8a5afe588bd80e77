// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cpu/rope_table.h"
#include "kernels/reference/vector_reference.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::RopeFrequencies;
using kernels::RopeParams;

// The parameters of an entry of rope_vectors.json; `divisors` keeps the factors alive.
RopeParams ParamsOf(const nlohmann::json& entry, std::vector<float>* divisors) {
  RopeParams params;
  params.rope_dim = entry["rotated"];
  params.base = entry["base"];
  params.linear_factor = entry.value("linear_factor", 1.0);
  params.magnitude = entry.value("magnitude", 1.0);
  if (entry.contains("yarn")) {
    const nlohmann::json& yarn = entry["yarn"];
    params.yarn = true;
    params.yarn_factor = yarn["factor"];
    params.yarn_original_context = yarn["original_context"];
    params.yarn_beta_fast = yarn["beta_fast"];
    params.yarn_beta_slow = yarn["beta_slow"];
    params.magnitude = kernels::YarnMagnitude(params.yarn_factor);
  }
  if (entry.contains("freq_divisors")) {
    *divisors = entry["freq_divisors"].get<std::vector<float>>();
    params.frequency_factors = divisors->data();
  }
  return params;
}

TEST_CASE("Rope: D06 D07 D08 the published vectors, in every unit", "[kernels][D06][D07][D08]") {
  const nlohmann::json entries = ReadJson(TestDataPath("rope_vectors.json"));
  REQUIRE(entries.size() == 11);
  for (const nlohmann::json& entry : entries) {
    std::vector<float> divisors;
    const RopeParams params = ParamsOf(entry, &divisors);
    const RopeFrequencies frequencies = kernels::MakeRopeFrequencies(params);
    std::vector<float> row(static_cast<size_t>(params.rope_dim));
    kernels::BuildRopeRow(frequencies, entry["pos"], row.data());
    const bool neox = entry["pairs"] == "(i,i+n/2)";
    const auto x = entry["x"].get<std::vector<float>>();
    const auto want = entry["want"].get<std::vector<double>>();
    for (const OpsUnit& unit : RunnableOpsUnits()) {
      std::vector<float> got(x.size());
      const auto dim = static_cast<int32_t>(x.size());
      unit.vector->rope(x.data(), got.data(), row.data(), 1, dim, params.rope_dim, neox);
      for (size_t i = 0; i < x.size(); ++i) {
        CAPTURE(unit.name, entry["name"].get<std::string>(), i);
        CHECK(std::fabs(got[i] - want[i]) <= entry["tolerance"].get<double>());
      }
    }
  }
}

TEST_CASE("Rope: YaRN magnitude of the published vectors", "[kernels][D08]") {
  CHECK(kernels::YarnMagnitude(4.0) == Approx(1.138629436111989).epsilon(1e-14));
  CHECK(kernels::YarnMagnitude(1.0) == 1.0);
  CHECK(kernels::LongRopeMagnitude(131072, 4096) == Approx(1.1902380714238083).epsilon(1e-14));
  CHECK(kernels::LongRopeMagnitude(4096, 4096) == 1.0);
}

TEST_CASE("Rope: many heads, odd sizes, in place, both pairings", "[kernels][D06]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t rope_dim : {2, 6, 16, 20, 34, 64, 80, 96, 128}) {
      for (const bool neox : {false, true}) {
        const int32_t head_dim = rope_dim + 5;
        const size_t n = static_cast<size_t>(3 * head_dim);
        RopeParams params;
        params.rope_dim = rope_dim;
        std::vector<float> row(static_cast<size_t>(rope_dim));
        kernels::BuildRopeRow(kernels::MakeRopeFrequencies(params), 123, row.data());
        std::vector<float> x = Random(7).Vector(n);
        std::vector<float> want(n);
        std::vector<float> got(n);
        kernels::reference::Rope(x.data(), want.data(), row.data(), 3, head_dim, rope_dim, neox);
        unit.vector->rope(x.data(), got.data(), row.data(), 3, head_dim, rope_dim, neox);
        CAPTURE(unit.name, rope_dim, neox);
        CHECK(NormalizedError(got, want) < 1e-7);
        unit.vector->rope(x.data(), x.data(), row.data(), 3, head_dim, rope_dim, neox);
        CHECK(SameBits(x.data(), got.data(), n));
      }
    }
  }
}

TEST_CASE("Rope: parameters that make no table give an empty one", "[kernels]") {
  const auto size_of = [](auto change) {
    RopeParams params;
    params.rope_dim = 16;
    change(&params);
    return kernels::MakeRopeFrequencies(params).per_position.size();
  };
  CHECK(size_of([](RopeParams*) {}) == 8);
  CHECK(size_of([](RopeParams* p) { p->rope_dim = 15; }) == 0);
  CHECK(size_of([](RopeParams* p) { p->rope_dim = -2; }) == 0);
  CHECK(size_of([](RopeParams* p) { p->base = 0.0; }) == 0);
  CHECK(size_of([](RopeParams* p) { p->base = NAN; }) == 0);
  CHECK(size_of([](RopeParams* p) { p->linear_factor = 0.0; }) == 0);
  CHECK(size_of([](RopeParams* p) { p->yarn = true; }) == 0);  // no original context
}

}  // namespace
}  // namespace minfer::testing
