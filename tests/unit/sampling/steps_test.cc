// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <limits>

#include "sampling/bias.h"
#include "sampling/dry.h"
#include "sampling/penalties.h"
#include "sampling/random.h"
#include "sampling/truncations.h"
#include "tests/unit/sampling/sampling_support.h"

namespace minfer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_CASE("Random: Philox gives the published known answers", "[sampling]") {
  using Words = std::array<uint32_t, 4>;
  REQUIRE(Philox4x32({0, 0, 0, 0}, {0, 0}) ==
          Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  REQUIRE(Philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
          Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  REQUIRE(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Random: numbers are uniform and differ by seed, position and draw", "[sampling]") {
  constexpr int kBins = 16;
  constexpr int kNumbers = 16000;
  std::array<int, kBins> bins = {};
  for (int64_t position = 0; position < kNumbers; ++position) {
    const double u = UniformRandom(7, position, RandomDraw::kToken);
    REQUIRE(u >= 0.0);
    REQUIRE(u < 1.0);
    ++bins[static_cast<int>(u * kBins)];
  }
  double chi_square = 0.0;
  for (const int n : bins) chi_square += (n - 1000.0) * (n - 1000.0) / 1000.0;
  REQUIRE(chi_square < 37.7);  // the 0.999 quantile for 15 degrees of freedom
  const double u = UniformRandom(7, 3, RandomDraw::kToken);
  REQUIRE(u == UniformRandom(7, 3, RandomDraw::kToken));
  REQUIRE(u != UniformRandom(8, 3, RandomDraw::kToken));
  REQUIRE(u != UniformRandom(7 + (uint64_t{1} << 32), 3, RandomDraw::kToken));
  REQUIRE(u != UniformRandom(7, 4, RandomDraw::kToken));
  REQUIRE(u != UniformRandom(7, 3 + (int64_t{1} << 32), RandomDraw::kToken));
  REQUIRE(u != UniformRandom(7, 3, RandomDraw::kXtc));
}

TEST_CASE("Bias: adds up, bans by -infinity and keeps finite logits finite", "[sampling]") {
  std::vector<float> logits = {1.0F, 2.0F, kInf, -3e38F, -kInf};
  const std::vector<LogitBias> bias = {{0, 1.5F}, {0, 0.5F}, {2, -kInf}, {3, -3e38F}, {4, 100.0F}};
  ApplyBias(bias, absl::MakeSpan(logits));
  REQUIRE(logits[0] == 3.0F);
  REQUIRE(logits[1] == 2.0F);
  REQUIRE(logits[2] == -kInf);
  REQUIRE(logits[3] == std::numeric_limits<float>::lowest());
  REQUIRE(logits[4] == -kInf);
}

TEST_CASE("Penalties: foreign ids count nothing and infinities stay", "[sampling]") {
  SamplingSettings settings = NeutralSamplingSettings();
  settings.repetition_penalty = 2.0F;
  settings.presence_penalty = 1.0F;
  std::vector<float> logits = {kInf, -kInf, 4.0F, -3e38F};
  const std::vector<int32_t> history = {0, 1, 2, 3, -1, 4, INT32_MAX};
  TokenTally tally;
  tally.Reserve(4);
  SamplingCounts counts;
  ApplyPenalties(settings, history, absl::MakeSpan(logits), tally, counts);
  REQUIRE(logits == std::vector<float>{kInf, -kInf, 1.0F, std::numeric_limits<float>::lowest()});
  REQUIRE(tally.touched().empty());
}

std::vector<float> AfterDry(const SamplingSettings& settings, const std::vector<int32_t>& history,
                            int32_t n_vocab, SamplingCounts* out_counts = nullptr) {
  std::vector<float> logits(n_vocab, 0.0F);
  DryScratch scratch;
  scratch.longest.Reserve(n_vocab);
  SamplingCounts counts;
  ApplyDry(settings, settings.dry_breakers, history, absl::MakeSpan(logits), scratch, counts);
  if (out_counts != nullptr) *out_counts = counts;
  return logits;
}

SamplingSettings DrySettings() {
  SamplingSettings settings = NeutralSamplingSettings();
  settings.dry_multiplier = 0.5F;
  settings.dry_base = 2.0F;
  return settings;
}

TEST_CASE("DRY: hand-computed penalties", "[sampling]") {
  SamplingSettings settings = DrySettings();
  // 1 2 3 stands at the start too, where 4 followed: n = 3, 0.5 * 2^(3 - 2) = 1.
  REQUIRE(AfterDry(settings, {1, 2, 3, 4, 1, 2, 3}, 6) == std::vector<float>{0, 0, 0, 0, -1.0F, 0});
  // Two ends: "2 3" followed by 5 (n = 2, 0.5) and "1 2 3" followed by 4 (n = 3, 1).
  REQUIRE(AfterDry(settings, {2, 3, 5, 1, 2, 3, 4, 1, 2, 3}, 6) ==
          std::vector<float>{0, 0, 0, 0, -1.0F, -0.5F});
  // The longest match of a token counts, wherever it stands.
  REQUIRE(AfterDry(settings, {1, 2, 3, 4, 0, 2, 3, 4, 1, 2, 3}, 6) ==
          std::vector<float>{0, 0, 0, 0, -1.0F, 0});
  // A run of five equal tokens overlaps itself: n = 4, 0.5 * 2^2 = 2.
  REQUIRE(AfterDry(settings, {1, 1, 1, 1, 1}, 3) == std::vector<float>{0, -2.0F, 0});
  // One token is shorter than the allowed length, unless that is 1 or 0.
  REQUIRE(AfterDry(settings, {1, 2, 1}, 3) == std::vector<float>{0, 0, 0});
  settings.dry_allowed_length = 1;
  REQUIRE(AfterDry(settings, {1, 2, 1}, 3) == std::vector<float>{0, 0, -0.5F});
  settings.dry_allowed_length = 0;
  REQUIRE(AfterDry(settings, {1, 2, 1}, 3) == std::vector<float>{0, 0, -1.0F});
}

TEST_CASE("DRY: breakers and the window bound a repetition", "[sampling]") {
  SamplingSettings settings = DrySettings();
  const std::vector<int32_t> history = {1, 2, 3, 4, 1, 2, 3};
  settings.dry_breakers = {1};  // 2 3 still match: n = 2
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>{0, 0, 0, 0, -0.5F});
  settings.dry_breakers = {2};  // 3 alone: too short
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>(5, 0.0F));
  settings.dry_breakers = {3};  // the newest token is a breaker
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>(5, 0.0F));
  settings.dry_breakers = {4};  // a breaker is never penalised
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>(5, 0.0F));
  settings.dry_breakers = {};
  settings.dry_last_n = 6;  // 2 3 4 1 2 3: n = 2
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>{0, 0, 0, 0, -0.5F});
  settings.dry_last_n = 0;
  REQUIRE(AfterDry(settings, history, 5) == std::vector<float>(5, 0.0F));
  settings.dry_last_n = -1;
  REQUIRE(AfterDry(settings, {}, 5) == std::vector<float>(5, 0.0F));
}

TEST_CASE("DRY: work is linear and the penalty finite on a hostile history", "[sampling]") {
  SamplingSettings settings = DrySettings();
  constexpr size_t kLength = 100000;
  std::vector<int32_t> periodic(kLength);
  for (size_t i = 0; i < kLength; ++i) periodic[i] = i % 1000 == 0 ? 1 : 0;
  for (const auto& history : {std::vector<int32_t>(kLength, 0), periodic}) {
    SamplingCounts counts;
    const std::vector<float> logits = AfterDry(settings, history, 2, &counts);
    REQUIRE(counts.history_steps <= static_cast<int64_t>(4 * kLength));
    REQUIRE(std::isfinite(logits[0]));
    REQUIRE(logits[0] < -1e38F);
  }
}

TEST_CASE("DRY: agrees with the definition, taken word by word, on random histories",
          "[sampling]") {
  SamplingSettings settings = DrySettings();
  settings.dry_breakers = {2};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<int32_t> h;
    for (const float x : NoiseLogits(40, seed)) h.push_back(static_cast<int32_t>(x + 8.0F) % 3);
    const auto n = static_cast<int>(h.size());
    std::array<int, 3> longest = {};
    for (int end = 0; end + 1 < n; ++end) {
      int length = 0;
      while (end - length >= 0 && h[end - length] == h[n - 1 - length] && h[end - length] != 2) {
        ++length;
      }
      if (h[end + 1] != 2) longest[h[end + 1]] = std::max(longest[h[end + 1]], length);
    }
    std::vector<float> want(3, 0.0F);
    for (int token = 0; token < 3; ++token) {
      if (longest[token] >= 2) want[token] = -std::ldexp(0.5F, longest[token] - 2);
    }
    INFO("seed " << seed);
    REQUIRE(AfterDry(settings, h, 3) == want);
  }
}

TEST_CASE("Typical: keeps the nearest to the entropy", "[sampling]") {
  // H = 1.0889 nats. Distances of -ln p: 0.5 -> .396, 0.25 -> .297, 0.15 -> .808, 0.1 -> 1.214
  // H = .3466 + .3466 + .2846 + .2303 = 1.2080 nats; |-ln p - H| is .515, .178, .689, 1.095.
  SamplingSettings settings = NeutralSamplingSettings();
  const std::vector<float> logits = LogitsOf({0.5, 0.25, 0.15, 0.1});
  settings.typical_p = 0.2F;
  REQUIRE(DistributionOf(settings, logits) == std::map<int32_t, double>{{1, 1.0}});
  settings.typical_p = 0.7F;
  auto got = DistributionOf(settings, logits);
  REQUIRE(got.size() == 2);
  REQUIRE(got[0] == Approx(2.0 / 3).margin(1e-6));
  REQUIRE(got[1] == Approx(1.0 / 3).margin(1e-6));
  settings.typical_p = 0.8F;
  REQUIRE(DistributionOf(settings, logits).size() == 3);
  settings.typical_p = 0.0F;
  REQUIRE(DistributionOf(settings, logits) == std::map<int32_t, double>{{1, 1.0}});
}

TEST_CASE("XTC: removes the top choices but the least of them", "[sampling]") {
  SamplingSettings settings = NeutralSamplingSettings();
  settings.xtc_probability = 1.0F;
  const std::vector<float> logits = LogitsOf({0.1, 0.2, 0.3, 0.4});
  settings.xtc_threshold = 0.15F;  // 3, 2, 1 are top choices; 1 stays
  auto got = DistributionOf(settings, logits);
  REQUIRE(got.size() == 2);
  REQUIRE(got[0] == Approx(1.0 / 3).margin(1e-6));
  REQUIRE(got[1] == Approx(2.0 / 3).margin(1e-6));
  settings.xtc_threshold = 0.35F;  // one top choice: nothing to do
  REQUIRE(DistributionOf(settings, logits).size() == 4);
  settings.xtc_threshold = 0.0F;  // all are: the least probable stays
  REQUIRE(DistributionOf(settings, logits) == std::map<int32_t, double>{{0, 1.0}});
  settings.xtc_threshold = 0.6F;
  REQUIRE(DistributionOf(settings, logits).size() == 4);
}

TEST_CASE("XTC: happens as often as asked", "[sampling]") {
  SamplingSettings settings = NeutralSamplingSettings();
  settings.xtc_probability = 0.25F;
  settings.xtc_threshold = 0.15F;
  const Sampler sampler = MakeSampler(settings, 4);
  const std::vector<float> logits = LogitsOf({0.1, 0.2, 0.3, 0.4});
  int happened = 0;
  for (int64_t position = 0; position < 4000; ++position) {
    if (DistributionOf(sampler, {.logits = logits, .position = position}).size() == 2) ++happened;
  }
  REQUIRE(std::abs(happened - 1000) < 100);  // 3.6 standard deviations
}

}  // namespace
}  // namespace minfer::testing
