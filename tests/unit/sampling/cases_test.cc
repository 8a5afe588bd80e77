// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <string>

#include "tests/unit/sampling/sampling_support.h"

// Every entry of tests/data/sampling_cases.json, by the number of its case in the index of public
// failures.
namespace minfer::testing {
namespace {

using nlohmann::json;

float Number(const json& value) {
  if (value.is_string() && value == "nan") return std::nanf("");
  return value.get<float>();
}

SamplingSettings SettingsOf(const json& params) {
  SamplingSettings s = NeutralSamplingSettings();
  s.penalty_last_n = -1;
  for (const auto& [key, value] : params.items()) {
    if (key == "temp")
      s.temperature = Number(value);
    else if (key == "top_k")
      s.top_k = value.get<int32_t>();
    else if (key == "top_p")
      s.top_p = Number(value);
    else if (key == "min_p")
      s.min_p = Number(value);
    else if (key == "repeat_penalty")
      s.repetition_penalty = Number(value);
    else if (key == "frequency_penalty")
      s.frequency_penalty = Number(value);
    else if (key == "presence_penalty")
      s.presence_penalty = Number(value);
    else if (key == "penalty_last_n")
      s.penalty_last_n = value.get<int32_t>();
    else if (key == "order")
      REQUIRE(value == json({"top_k", "top_p", "min_p"}));
    else if (key != "history")
      FAIL("a parameter the test does not know: " << key);
  }
  return s;
}

std::vector<float> RowOf(const json& entry) {
  if (entry.contains("logits")) return entry["logits"].get<std::vector<float>>();
  return LogitsOf(entry[entry.contains("probs") ? "probs" : "weights"].get<std::vector<double>>());
}

void CheckEntry(const json& entry) {
  const std::vector<float> row = RowOf(entry);
  const SamplingSettings settings = SettingsOf(entry["params"]);
  const auto history = entry["params"].value("history", std::vector<int32_t>{});
  const std::string expect = entry["expect"];
  StatusOr<Sampler> sampler = Sampler::Create(settings, static_cast<int32_t>(row.size()));
  if (!sampler.ok()) {
    REQUIRE(expect.find("error") != std::string::npos);
    REQUIRE(sampler.status().code() == StatusCode::kInvalidArgument);
    REQUIRE(!sampler.status().name().empty());
    return;
  }
  REQUIRE(expect != "error");
  REQUIRE(expect != "greedy_or_error");  // ours is the error
  SamplerScratch scratch;
  MF_REQUIRE_OK(sampler->Distribution({.logits = row, .history = history}, scratch));
  if (expect == "logits") {
    REQUIRE(scratch.logits == entry["want"].get<std::vector<float>>());
    return;
  }
  std::map<int32_t, double> got;
  for (const Candidate& c : scratch.candidates.items) {
    got[c.id] = c.weight / scratch.candidates.total;
  }
  if (expect == "kept") {
    std::set<int32_t> kept;
    for (const auto& [id, probability] : got) kept.insert(id);
    REQUIRE(kept == entry["want"].get<std::set<int32_t>>());
    return;
  }
  REQUIRE((expect == "probs" || expect == "probs_or_error"));
  for (const auto& [id, want] : entry["want"].items()) {
    INFO("token " << id);
    REQUIRE(got[std::stoi(id)] == Approx(want.get<double>()).margin(1e-6));
  }
  for (const auto& [id, probability] : got) {
    if (!entry["want"].contains(std::to_string(id))) REQUIRE(probability < 1e-6);
  }
}

void CheckCase(const std::string& number, int want_entries) {
  int entries = 0;
  for (const json& entry : ReadJson(TestDataPath("sampling_cases.json"))) {
    if (entry["case"] != number) continue;
    INFO(number << ": " << entry["what"]);
    CheckEntry(entry);
    ++entries;
  }
  REQUIRE(entries == want_entries);
}

TEST_CASE("Sampler: F10 temperature 1, 0, negative, tiny and NaN", "[sampling]") {
  CheckCase("F10", 5);
}
TEST_CASE("Sampler: F11 top-k 0, negative and huge", "[sampling]") { CheckCase("F11", 6); }
TEST_CASE("Sampler: F12 limits of top-p and min-p", "[sampling]") { CheckCase("F12", 9); }
TEST_CASE("Sampler: F13 top-p works on what top-k left, renormalised", "[sampling]") {
  CheckCase("F13", 1);
}
TEST_CASE("Sampler: F15 penalties: sign, window and counts", "[sampling]") { CheckCase("F15", 7); }
TEST_CASE("Sampler: F16 the lowest id wins a tie", "[sampling]") { CheckCase("F16", 2); }

TEST_CASE("Sampler: all thirty entries of the cases file are tested", "[sampling]") {
  REQUIRE(ReadJson(TestDataPath("sampling_cases.json")).size() == 5 + 6 + 9 + 1 + 7 + 2);
}

}  // namespace
}  // namespace minfer::testing
