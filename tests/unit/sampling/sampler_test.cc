// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/sampler.h"

#include <limits>
#include <string>

#include "tests/unit/sampling/allocation_count.h"
#include "tests/unit/sampling/sampling_support.h"

namespace minfer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// A toy model: the row depends on the last two tokens.
std::vector<float> ModelRow(const std::vector<int32_t>& tokens) {
  uint32_t seed = 17;
  for (size_t i = tokens.size() < 2 ? 0 : tokens.size() - 2; i < tokens.size(); ++i) {
    seed = seed * 31 + static_cast<uint32_t>(tokens[i]);
  }
  return NoiseLogits(64, seed);
}

struct Session {
  Sampler sampler;
  std::vector<int32_t> tokens;
};

void Generate(Session& session, int n, SamplerScratch& scratch) {
  for (int i = 0; i < n; ++i) {
    const std::vector<float> row = ModelRow(session.tokens);
    const SampleInput input{.logits = row,
                            .position = static_cast<int64_t>(session.tokens.size()),
                            .history = session.tokens};
    auto first = session.sampler.Sample(input, scratch);
    MF_REQUIRE_OK(first);
    // A step that is not committed is retried: the same token.
    auto again = session.sampler.Sample(input, scratch);
    MF_REQUIRE_OK(again);
    REQUIRE(first->token == again->token);
    session.sampler.Accept(*again);
    session.tokens.push_back(again->token);
  }
}

// Every step on; mirostat in its own variant.
SamplingSettings EverythingOn(bool mirostat) {
  SamplingSettings s = DefaultSamplingSettings();
  s.seed = 42;
  s.temperature = 1.3F;
  s.typical_p = 0.97F;
  s.xtc_probability = 0.5F;
  s.xtc_threshold = 0.05F;
  s.repetition_penalty = 1.1F;
  s.frequency_penalty = 0.1F;
  s.presence_penalty = 0.1F;
  s.dry_multiplier = 0.8F;
  s.dry_breakers = {9, 3};
  s.logit_bias = {{5, 1.0F}, {6, -kInf}};
  if (mirostat) {
    s.mirostat = 2;
    s.mirostat_tau = 3.0F;
    s.mirostat_eta = 0.3F;
  }
  return s;
}

TEST_CASE("Sampler: F16 retry, rewind and fork give the same tokens again", "[sampling]") {
  for (const bool mirostat : {false, true}) {
    SamplerScratch scratch;  // one for all sessions
    Session session{MakeSampler(EverythingOn(mirostat), 64), {1, 2, 3}};
    Generate(session, 60, scratch);

    Session twin{MakeSampler(EverythingOn(mirostat), 64), {1, 2, 3}};
    Generate(twin, 20, scratch);
    Session fork = twin;
    // Two sessions in turn, as a batch would have them.
    for (int i = 0; i < 40; ++i) {
      Generate(twin, 1, scratch);
      Generate(fork, 1, scratch);
    }
    REQUIRE(twin.tokens == session.tokens);
    REQUIRE(fork.tokens == session.tokens);

    const std::vector<int32_t> want = session.tokens;
    for (const size_t position : {size_t{50}, size_t{17}, size_t{3}}) {
      session.tokens.resize(position);
      session.sampler.Rewind(static_cast<int64_t>(position));
      Generate(session, static_cast<int>(want.size() - position), scratch);
      REQUIRE(session.tokens == want);
    }

    SamplingSettings other = EverythingOn(mirostat);
    other.seed = 43;
    Session different{MakeSampler(other, 64), {1, 2, 3}};
    Generate(different, 60, scratch);
    REQUIRE(different.tokens != want);
  }
}

TEST_CASE("Sampler: draws follow the distribution", "[sampling]") {
  const std::vector<double> p = {0.02, 0.08, 0.15, 0.2, 0.25, 0.3};
  const std::vector<float> logits = LogitsOf(p);
  constexpr int kDraws = 20000;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xFFFFFFFFFFFFFFFF}}) {
    for (const bool sorted : {false, true}) {
      SamplingSettings settings = NeutralSamplingSettings();
      settings.seed = seed;
      settings.top_p = sorted ? 0.9999F : 1.0F;
      const Sampler sampler = MakeSampler(settings, 6);
      SamplerScratch scratch;
      std::vector<int> seen(p.size());
      for (int64_t position = 0; position < kDraws; ++position) {
        auto sampled = sampler.Sample({.logits = logits, .position = position}, scratch);
        MF_REQUIRE_OK(sampled);
        ++seen[sampled->token];
      }
      double chi_square = 0.0;
      for (size_t i = 0; i < p.size(); ++i) {
        const double expected = p[i] * kDraws;
        chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
      }
      REQUIRE(chi_square < 20.5);  // the 0.999 quantile for 5 degrees of freedom
    }
  }
}

TEST_CASE("Sampler: temperature comes after the truncations", "[sampling]") {
  SamplingSettings settings = NeutralSamplingSettings();
  settings.temperature = 100.0F;
  settings.top_p = 0.6F;
  const auto got = DistributionOf(settings, LogitsOf({0.1, 0.2, 0.3, 0.4}));
  REQUIRE(got.size() == 2);  // at temperature 100 first, it would have been three
  REQUIRE(got.at(2) == Approx(0.5).margin(0.01));
}

TEST_CASE("Sampler: D30 NaN and infinity among the logits", "[sampling]") {
  SamplerScratch scratch;
  for (const float temperature : {0.0F, 1.0F}) {
    for (const int32_t mirostat : {0, 2}) {
      SamplingSettings settings = DefaultSamplingSettings();
      settings.temperature = temperature;
      settings.mirostat = mirostat;
      settings.typical_p = 0.9F;
      settings.xtc_probability = 1.0F;
      settings.repetition_penalty = 1.5F;
      const Sampler sampler = MakeSampler(settings, 4);
      const std::vector<int32_t> history = {0, 1, 2, 3};
      const auto sample = [&](const std::vector<float>& row) {
        return sampler.Sample({.logits = row, .history = history}, scratch);
      };
      auto bad = sample({0.0F, 1.0F, kNan, 2.0F});
      REQUIRE(bad.status().code() == StatusCode::kDataLoss);
      REQUIRE(bad.status().subsystem() == Subsystem::kSampling);
      REQUIRE(bad.status().message() == "logit of token 2 is NaN");
      REQUIRE(sample({-kInf, -kInf, -kInf, -kInf}).status().code() == StatusCode::kDataLoss);
      auto best = sample({1.0F, kInf, -kInf, 3.0F});
      MF_REQUIRE_OK(best);
      REQUIRE(best->token == 1);
      auto only = sample({-kInf, -kInf, -2.0F, -kInf});
      MF_REQUIRE_OK(only);
      REQUIRE(only->token == 2);
      auto wide = sample({-3e38F, 3e38F, 0.0F, -3e38F});
      MF_REQUIRE_OK(wide);
      REQUIRE(wide->token == 1);
    }
  }
  const auto shared = DistributionOf(NeutralSamplingSettings(), {kInf, 1.0F, kInf});
  REQUIRE(shared == std::map<int32_t, double>{{0, 0.5}, {1, 0.0}, {2, 0.5}});
}

TEST_CASE("Sampler: D20 spare rows of the output matrix are never returned", "[sampling]") {
  std::vector<float> logits = LogitsOf({0.1, 0.2, 0.3, 0.4});
  logits.resize(12, 50.0F);
  logits[9] = kNan;  // not even looked at
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingSettings settings = NeutralSamplingSettings();
    settings.temperature = temperature;
    const Sampler sampler = MakeSampler(settings, 4);
    SamplerScratch scratch;
    for (int64_t position = 0; position < 200; ++position) {
      auto sampled = sampler.Sample({.logits = logits, .position = position}, scratch);
      MF_REQUIRE_OK(sampled);
      REQUIRE(sampled->token < 4);
    }
  }
  SamplerScratch scratch;
  const Sampler larger = MakeSampler(NeutralSamplingSettings(), 13);
  auto refused = larger.Sample({.logits = logits}, scratch);
  REQUIRE(refused.status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("Sampler: the mask takes tokens out before anything else", "[sampling]") {
  const std::vector<float> logits = NoiseLogits(70, 5);
  std::vector<uint32_t> allowed(3, 0);
  allowed[1] = 1U << 7;             // 39
  allowed[2] = 1U << 3 | 1U << 31;  // 67, and a bit past the vocabulary
  const Sampler sampler = MakeSampler(NeutralSamplingSettings(), 70);
  const auto got = DistributionOf(sampler, {.logits = logits, .allowed = allowed});
  REQUIRE(got.size() == 2);
  REQUIRE(got.count(39) == 1);
  REQUIRE(got.count(67) == 1);
  SamplerScratch scratch;
  const std::vector<uint32_t> none(3, 0);
  auto banned = sampler.Sample({.logits = logits, .position = 8, .allowed = none}, scratch);
  REQUIRE(banned.status().code() == StatusCode::kFailedPrecondition);
  REQUIRE(banned.status().message().find("position 8") != std::string_view::npos);
  const std::vector<uint32_t> short_mask(2, ~0U);
  auto refused = sampler.Sample({.logits = logits, .allowed = short_mask}, scratch);
  REQUIRE(refused.status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("Sampler: the host's editor works on a copy and its failure is returned", "[sampling]") {
  const std::vector<float> logits = {1.0F, 2.0F, 3.0F};
  const std::vector<float> before = logits;
  const Sampler greedy = MakeSampler({}, 3);
  SamplerScratch scratch;
  float value = 100.0F;
  SampleInput input{.logits = logits};
  input.editor.user_data = &value;
  input.editor.edit = [](void* user_data, absl::Span<float> row) {
    row[0] = *static_cast<float*>(user_data);
    return OkStatus();
  };
  auto sampled = greedy.Sample(input, scratch);
  MF_REQUIRE_OK(sampled);
  REQUIRE(sampled->token == 0);
  REQUIRE(logits == before);
  value = kNan;
  auto broken = greedy.Sample(input, scratch);
  REQUIRE(broken.status().code() == StatusCode::kInvalidArgument);
  REQUIRE(broken.status().message().find("token 0") != std::string_view::npos);
  input.editor.edit = [](void*, absl::Span<float>) {
    return Status(StatusCode::kAborted, Subsystem::kApi, "host says no");
  };
  REQUIRE(greedy.Sample(input, scratch).status().code() == StatusCode::kAborted);
}

TEST_CASE("Sampler: F15 a bias that bans every token is a status", "[sampling]") {
  SamplingSettings settings;
  settings.logit_bias = {{0, -kInf}, {1, -kInf}};
  const Sampler sampler = MakeSampler(settings, 2);
  SamplerScratch scratch;
  const std::vector<float> logits = {1.0F, 2.0F};
  auto banned = sampler.Sample({.logits = logits}, scratch);
  REQUIRE(banned.status().code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("Mirostat: mean surprise converges to tau", "[sampling]") {
  // Zipf over 2,000 tokens: untruncated it has 8.1 bits, and its best token 3.03.
  std::vector<float> logits;
  for (int rank = 1; rank <= 2000; ++rank) logits.push_back(-std::log(static_cast<float>(rank)));
  double total = 0.0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  for (const float tau : {3.5F, 5.0F, 7.0F}) {
    SamplingSettings settings = NeutralSamplingSettings();
    settings.mirostat = 2;
    settings.mirostat_tau = tau;
    settings.seed = 5;
    settings.top_k = 1;  // replaced, so without effect
    Sampler sampler = MakeSampler(settings, 2000);
    SamplerScratch scratch;
    double sum = 0.0;
    constexpr int kWarm = 200;
    constexpr int kMeasured = 1800;
    for (int64_t position = 0; position < kWarm + kMeasured; ++position) {
      auto sampled = sampler.Sample({.logits = logits, .position = position}, scratch);
      MF_REQUIRE_OK(sampled);
      sampler.Accept(*sampled);
      if (position >= kWarm) sum -= std::log2(std::exp(logits[sampled->token]) / total);
    }
    INFO("tau " << tau << ", mean " << sum / kMeasured);
    REQUIRE(std::abs(sum / kMeasured - tau) < 0.05);
  }
}

TEST_CASE("Mirostat: mu of each position is kept", "[sampling]") {
  MirostatTrack track;
  REQUIRE(track.At(5, 10.0) == 10.0);
  track.Commit(5, 9.0);
  track.Commit(6, 8.0);
  track.Commit(9, 7.0);  // 7 and 8 were fed by the host
  REQUIRE(track.At(5, 10.0) == 10.0);
  REQUIRE(track.At(6, 10.0) == 9.0);
  REQUIRE(track.At(8, 10.0) == 8.0);
  REQUIRE(track.At(10, 10.0) == 7.0);
  MirostatTrack fork = track;
  track.Rewind(6);
  REQUIRE(track.At(10, 10.0) == 9.0);
  REQUIRE(fork.At(10, 10.0) == 7.0);
  track.Commit(5, 1.0);
  REQUIRE(track.At(10, 10.0) == 1.0);
}

TEST_CASE("Sampler: F17 work on a vocabulary of 150,000 is about one look a token", "[sampling]") {
  constexpr int32_t kVocab = 150000;
  const std::vector<float> noise = NoiseLogits(kVocab, 9);
  std::vector<float> rising(kVocab);
  for (int32_t id = 0; id < kVocab; ++id) rising[id] = static_cast<float>(id);
  const std::vector<float> equal(kVocab, 1.0F);
  SamplerScratch scratch;
  const Sampler sampler = MakeSampler(DefaultSamplingSettings(), kVocab);
  const auto comparisons = [&](const std::vector<float>& row) {
    MF_REQUIRE_OK(sampler.Sample({.logits = row}, scratch));
    REQUIRE(scratch.counts.exponentials <= 2 * 40);
    return scratch.counts.comparisons;
  };
  REQUIRE(comparisons(noise) < kVocab * 11 / 10);
  REQUIRE(comparisons(equal) < kVocab * 11 / 10);
  REQUIRE(comparisons(rising) < kVocab * 14);  // the worst order: every token enters the heap
  SamplingSettings settings = DefaultSamplingSettings();
  settings.top_k = 0;  // the nucleus alone: a heap, not a sort
  const Sampler nucleus = MakeSampler(settings, kVocab);
  std::vector<float> peaked = noise;
  for (int32_t id = 0; id < 20; ++id) peaked[id * 7001] = 20.0F + static_cast<float>(id) * 0.1F;
  MF_REQUIRE_OK(nucleus.Sample({.logits = peaked}, scratch));
  REQUIRE(scratch.counts.comparisons < kVocab * 3);
}

TEST_CASE("Sampler: nothing is allocated once the scratch has its size", "[sampling]") {
  SamplingSettings settings = EverythingOn(false);
  const Sampler sampler = MakeSampler(settings, 64);
  const std::vector<float> row = NoiseLogits(64, 3);
  const std::vector<int32_t> history = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2};
  SamplerScratch scratch;
  const auto sample = [&](int64_t position) {
    return sampler.Sample({.logits = row, .position = position, .history = history}, scratch).ok();
  };
  REQUIRE(sample(0));
  const int64_t before = AllocationCount();
  bool all_ok = true;
  for (int64_t position = 1; position < 100; ++position) all_ok = sample(position) && all_ok;
  const int64_t after = AllocationCount();
  REQUIRE(all_ok);
  REQUIRE(after == before);
}

}  // namespace
}  // namespace minfer::testing
