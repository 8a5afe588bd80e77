// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/settings.h"

#include <functional>
#include <limits>
#include <string>

#include "tests/unit/sampling/sampling_support.h"

namespace minfer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

TEST_CASE("Settings: the all-zero struct is greedy with everything off", "[sampling]") {
  const SamplingSettings zero;
  MF_REQUIRE_OK(Validate(zero, 4));
  const Sampler sampler = MakeSampler(zero, 4);
  const std::vector<float> logits = {0.5F, 2.0F, 1.9F, 2.0F};
  // A history full of the best token changes nothing: no penalty, no DRY.
  const std::vector<int32_t> history(20, 1);
  SamplerScratch scratch;
  for (int64_t position = 0; position < 50; ++position) {
    auto sampled =
        sampler.Sample({.logits = logits, .position = position, .history = history}, scratch);
    MF_REQUIRE_OK(sampled);
    REQUIRE(sampled->token == 1);
  }
  REQUIRE(scratch.logits == logits);
  REQUIRE(scratch.counts.history_steps == 0);
  REQUIRE(scratch.counts.exponentials == 0);
}

TEST_CASE("Settings: the defaults are 0.8, 40, 0.95, 0.05 and the rest off", "[sampling]") {
  const SamplingSettings s = DefaultSamplingSettings();
  MF_REQUIRE_OK(Validate(s, 4));
  REQUIRE(s.seed == 0);
  REQUIRE(s.temperature == 0.8F);
  REQUIRE(s.top_k == 40);
  REQUIRE(s.top_p == 0.95F);
  REQUIRE(s.min_p == 0.05F);
  // The rest off: with these four neutral, a row comes out as it went in.
  SamplingSettings rest = s;
  rest.temperature = 1.0F;
  rest.top_k = 0;
  rest.top_p = 1.0F;
  rest.min_p = 0.0F;
  const std::vector<int32_t> history = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  const auto got = DistributionOf(rest, LogitsOf({0.1, 0.2, 0.3, 0.4}), history);
  REQUIRE(got.size() == 4);
  for (int32_t id = 0; id < 4; ++id) REQUIRE(got.at(id) == Approx(0.1 * (id + 1)).margin(1e-7));
}

TEST_CASE("Settings: what is out of range is refused by field and number", "[sampling]") {
  struct Bad {
    const char* field;
    std::function<void(SamplingSettings&)> set;
    const char* number;
  };
  const std::vector<Bad> all = {
      {"temperature", [](auto& s) { s.temperature = -1; }, "-1"},
      {"temperature", [](auto& s) { s.temperature = kNan; }, "nan"},
      {"temperature", [](auto& s) { s.temperature = kInf; }, "inf"},
      {"top_k", [](auto& s) { s.top_k = -3; }, "-3"},
      {"top_p", [](auto& s) { s.top_p = 1.5F; }, "1.5"},
      {"top_p", [](auto& s) { s.top_p = -0.5F; }, "-0.5"},
      {"top_p", [](auto& s) { s.top_p = kNan; }, "nan"},
      {"min_p", [](auto& s) { s.min_p = -0.25F; }, "-0.25"},
      {"min_p", [](auto& s) { s.min_p = kNan; }, "nan"},
      {"typical_p", [](auto& s) { s.typical_p = 2; }, "2"},
      {"typical_p", [](auto& s) { s.typical_p = kNan; }, "nan"},
      {"xtc_probability", [](auto& s) { s.xtc_probability = 1.5F; }, "1.5"},
      {"xtc_probability", [](auto& s) { s.xtc_probability = kNan; }, "nan"},
      {"xtc_threshold", [](auto& s) { s.xtc_threshold = -1; }, "-1"},
      {"penalty_last_n", [](auto& s) { s.penalty_last_n = -2; }, "-2"},
      {"repetition_penalty", [](auto& s) { s.repetition_penalty = 0; }, "0"},
      {"repetition_penalty", [](auto& s) { s.repetition_penalty = -2; }, "-2"},
      {"repetition_penalty", [](auto& s) { s.repetition_penalty = kNan; }, "nan"},
      {"frequency_penalty", [](auto& s) { s.frequency_penalty = kInf; }, "inf"},
      {"presence_penalty", [](auto& s) { s.presence_penalty = kNan; }, "nan"},
      {"dry_multiplier", [](auto& s) { s.dry_multiplier = -1; }, "-1"},
      {"dry_base",
       [](auto& s) {
         s.dry_multiplier = 1;
         s.dry_base = 0.5F;
       },
       "0.5"},
      {"dry_allowed_length", [](auto& s) { s.dry_allowed_length = -1; }, "-1"},
      {"dry_last_n", [](auto& s) { s.dry_last_n = -7; }, "-7"},
      {"mirostat", [](auto& s) { s.mirostat = 1; }, "1"},
      {"mirostat_tau", [](auto& s) { s.mirostat_tau = kNan; }, "nan"},
      {"mirostat_eta", [](auto& s) { s.mirostat_eta = -0.5F; }, "-0.5"},
      {"logit_bias",
       [](auto& s) {
         s.logit_bias = {{1, kNan}};
       },
       "nan"},
      {"logit_bias",
       [](auto& s) {
         s.logit_bias = {{1, kInf}};
       },
       "inf"},
  };
  for (const Bad& bad : all) {
    SamplingSettings settings = NeutralSamplingSettings();
    bad.set(settings);
    const Status status = Validate(settings, 4);
    INFO(bad.field << ": " << status.ToString());
    REQUIRE(status.code() == StatusCode::kInvalidArgument);
    REQUIRE(status.name() == bad.field);
    const std::string message(status.message());
    REQUIRE(message.find(std::string(bad.field) + " " + bad.number) == 0);
    REQUIRE(!Sampler::Create(settings, 4).ok());
  }
}

TEST_CASE("Settings: G13 ids outside the vocabulary are refused", "[sampling]") {
  for (const int32_t token : {-1, 4, INT32_MAX, INT32_MIN}) {
    SamplingSettings settings;
    settings.logit_bias = {{0, 1.0F}, {token, 1.0F}};
    Status status = Validate(settings, 4);
    REQUIRE(status.code() == StatusCode::kOutOfRange);
    REQUIRE(status.name() == "logit_bias");
    REQUIRE(status.message().find(std::to_string(token)) != std::string_view::npos);
    settings = {};
    settings.dry_breakers = {token};
    status = Validate(settings, 4);
    REQUIRE(status.code() == StatusCode::kOutOfRange);
    REQUIRE(status.name() == "dry_breakers");
  }
  REQUIRE(!Sampler::Create({}, 0).ok());
}

}  // namespace
}  // namespace minfer::testing
