// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/expert_routing.h"
#include "kernels/reference/attention_reference.h"
#include "kernels/reference/expert_reference.h"
#include "kernels/reference/vector_reference.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::TopExpertsArgs;
namespace ref = kernels::reference;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Choice {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

template <typename Kernel>
Choice Choose(const std::vector<float>& scores, int32_t n_used, bool normalise, float factor,
              const Kernel& kernel) {
  Choice choice;
  choice.ids.assign(static_cast<size_t>(n_used), -1);
  choice.weights.assign(static_cast<size_t>(n_used), -1.0f);
  TopExpertsArgs args;
  args.scores = scores.data();
  args.n_experts = static_cast<int32_t>(scores.size());
  args.n_used = n_used;
  args.normalise = normalise;
  args.factor = factor;
  args.ids = choice.ids.data();
  args.weights = choice.weights.data();
  kernel(args);
  return choice;
}

Choice Chosen(const std::vector<float>& scores, int32_t n_used, bool normalise = true) {
  return Choose(scores, n_used, normalise, 1.0f, [](const TopExpertsArgs& args) {
    CHECK(kernels::TopExperts(args) == KernelStatus::kOk);
  });
}

TEST_CASE("Experts: choice and weights equal the twin's", "[kernels]") {
  Random random(3);
  for (const size_t n : {1u, 2u, 7u, 60u, 128u, 512u}) {
    for (const int32_t used : {1, 2, 4, 8, 60, 512}) {
      if (used > static_cast<int32_t>(n)) continue;
      for (const bool normalise : {false, true}) {
        std::vector<float> scores = random.Vector(n);
        for (float& score : scores) score *= 9.0f;
        const Choice got = Choose(scores, used, normalise, 2.5f, [](const TopExpertsArgs& args) {
          REQUIRE(kernels::TopExperts(args) == KernelStatus::kOk);
        });
        const Choice want = Choose(scores, used, normalise, 2.5f, ref::TopExperts);
        CAPTURE(n, used, normalise);
        CHECK(got.ids == want.ids);
        for (size_t j = 0; j < got.weights.size(); ++j) {
          CHECK(std::fabs(got.weights[j] - want.weights[j]) <= 3e-7f * want.weights[j]);
        }
      }
    }
  }
}

TEST_CASE("Experts: of equal scores the lower id goes first", "[kernels]") {
  CHECK(Chosen({1.0f, 2.0f, 2.0f, 1.0f, 2.0f}, 4).ids == std::vector<int32_t>{1, 2, 4, 0});
  CHECK(Chosen({0.0f, -0.0f, 0.0f}, 2).ids == std::vector<int32_t>{0, 1});
  CHECK(Chosen({5.0f, 5.0f}, 2).weights == std::vector<float>{0.5f, 0.5f});
}

TEST_CASE("Experts: scores that are no numbers choose experts all the same", "[kernels]") {
  // A NaN goes last, whatever stands around it; the ids stay experts, each once.
  CHECK(Chosen({kNan, 1.0f, kNan, 3.0f, 2.0f}, 3).ids == std::vector<int32_t>{3, 4, 1});
  CHECK(Chosen({kNan, 1.0f, kNan, 3.0f}, 4).ids == std::vector<int32_t>{3, 1, 0, 2});
  CHECK(Chosen({kNan, kNan, kNan}, 2).ids == std::vector<int32_t>{0, 1});
  CHECK(Chosen({kInfinity, kNan, -kInfinity}, 2).ids == std::vector<int32_t>{0, 2});
  // What it cannot weigh it does not hide.
  CHECK(std::isnan(Chosen({kNan, 1.0f, 2.0f}, 2, false).weights[0]));
  // Scores far apart, and far from 0.
  const Choice far = Chosen({-3e38f, 1e30f, 3e38f}, 3);
  CHECK(far.ids == std::vector<int32_t>{2, 1, 0});
  CHECK(far.weights == std::vector<float>{1.0f, 0.0f, 0.0f});
}

TEST_CASE("Experts: an impossible number of experts is refused", "[kernels]") {
  TopExpertsArgs args;
  args.n_experts = 4;
  for (const int32_t used : {-1, 0, 5}) {
    args.n_used = used;
    CHECK(kernels::TopExperts(args) == KernelStatus::kBadShape);
  }
}

TEST_CASE("Experts: slots are ordered by expert, counts as the twin's", "[kernels]") {
  Random random(4);
  for (const int32_t n_experts : {1, 2, 9, 128}) {
    for (const size_t n_slots : {0u, 1u, 5u, 64u, 1000u}) {
      std::vector<int32_t> ids(n_slots);
      for (int32_t& id : ids) id = static_cast<int32_t>(random.Below(n_experts));
      std::vector<int32_t> slots(n_slots, -1);
      std::vector<int32_t> counts(static_cast<size_t>(n_experts), -1);
      REQUIRE(kernels::GroupExperts(ids.data(), static_cast<int64_t>(n_slots), n_experts,
                                    slots.data(), counts.data()) == KernelStatus::kOk);
      std::vector<int32_t> want_slots;
      std::vector<int32_t> want_counts;
      ref::GroupExperts(ids, n_experts, &want_slots, &want_counts);
      CAPTURE(n_experts, n_slots);
      CHECK(slots == want_slots);
      CHECK(counts == want_counts);
    }
  }
}

TEST_CASE("Experts: an id that is no expert is refused before it is used", "[kernels]") {
  std::vector<int32_t> slots(3);
  std::vector<int32_t> counts(2);
  for (const int32_t bad : {-1, 2, INT32_MAX, INT32_MIN}) {
    const std::vector<int32_t> ids = {0, bad, 1};
    CHECK(kernels::GroupExperts(ids.data(), 3, 2, slots.data(), counts.data()) ==
          KernelStatus::kBadShape);
  }
}

TEST_CASE("Experts: the clamped SwiGLU of every unit, clamps and NaN included", "[kernels]") {
  constexpr float kAlpha = 1.702f;
  constexpr float kLimit = 7.0f;
  std::vector<float> gate;
  std::vector<float> up;
  for (const float x : {-90.0f, -7.5f, -7.0f, -1.0f, -0.0f, 0.3f, 6.9f, 7.0f, 7.1f, 1e30f}) {
    for (const float y : {-1e30f, -7.1f, -7.0f, -1.0f, 0.0f, 2.5f, 7.0f, 8.0f}) {
      gate.push_back(x);
      up.push_back(y);
    }
  }
  const auto n = static_cast<int64_t>(gate.size());
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    CAPTURE(unit.name);
    std::vector<float> out(gate.size());
    unit.vector->clamped_swiglu(gate.data(), up.data(), out.data(), n, kAlpha, kLimit);
    for (size_t i = 0; i < gate.size(); ++i) {
      const double want = ref::TrueClampedSwiglu(gate[i], up[i], kAlpha, kLimit);
      CHECK(std::fabs(out[i] - want) <= 3e-6 * std::fabs(want) + 1e-30);
      const float twin = ref::ClampedSwiglu(gate[i], up[i], kAlpha, kLimit);
      if (unit.name == "generic") CHECK(SameBits(&twin, &out[i], 1));
      float alone = 0.0f;
      unit.vector->clamped_swiglu(&gate[i], &up[i], &alone, 1, kAlpha, kLimit);
      CHECK(SameBits(&alone, &out[i], 1));
    }
    const float nan = kNan;
    const float one = 1.0f;
    float result[2] = {};
    unit.vector->clamped_swiglu(&nan, &one, &result[0], 1, kAlpha, kLimit);
    unit.vector->clamped_swiglu(&one, &nan, &result[1], 1, kAlpha, kLimit);
    CHECK(std::isnan(result[0]));
    CHECK(std::isnan(result[1]));
  }
}

TEST_CASE("Experts: scale_add adds a multiple, any size, in place", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const size_t n : {1u, 7u, 16u, 33u, 100u}) {
      Random random(n);
      const std::vector<float> x = random.Vector(n);
      std::vector<float> sum = random.Vector(n);
      const std::vector<float> before = sum;
      unit.vector->scale_add(x.data(), 0.3f, sum.data(), sum.data(), static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) {
        CAPTURE(unit.name, n, i);
        CHECK(std::fabs(sum[i] - (before[i] + 0.3 * static_cast<double>(x[i]))) < 2e-7);
      }
    }
  }
}

TEST_CASE("Attention: sinks take their share of the softmax in every unit", "[kernels]") {
  // Below, among and far above the scores; a sink of -infinity is none.
  const std::vector<float> sinks = {-4.0f, 0.1f, 3.0f, 60.0f, -kInfinity, 1.0f};
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t window : {0, 40}) {
      const KvShape shape = {.n_kv_heads = 2, .head_dim_k = 24, .head_dim_v = 20};
      KvStoreForTest store(*unit.attention, shape, {700, 3}, 5);
      AttentionCase c(store, 6, {0, 0, 1, -1, 1}, {700, 65, 3, 4, 0}, 9);
      c.args.window = window;
      std::vector<float> want;
      std::vector<float> none = RunAttention(*unit.attention, &c);
      c.args.sinks = sinks.data();
      REQUIRE(ref::Attention(c.Args(&want)) == KernelStatus::kOk);
      const std::vector<float> got = RunAttention(*unit.attention, &c);
      CAPTURE(unit.name, window);
      CHECK(NormalizedError(got, want) < 3e-6);
      CHECK(NormalizedError(none, want) > 1e-2);
      // The head without a sink keeps its bits; rows that see nothing stay zero.
      CHECK(SameBits(&got[4 * 20], &none[4 * 20], 20));
      for (const int64_t row : {3, 4}) {
        const auto begin = got.begin() + row * c.args.out_stride;
        CHECK(std::all_of(begin, begin + 6 * 20, [](float x) { return x == 0.0f; }));
      }
    }
  }
}

}  // namespace
}  // namespace minfer::testing
