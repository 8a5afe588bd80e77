// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/log_probabilities.h"

#include <limits>

#include "tests/unit/sampling/sampling_support.h"

namespace minfer::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_CASE("LogProbabilities: of a token and of the best ones", "[sampling]") {
  std::vector<float> logits = LogitsOf({0.1, 0.2, 0.4, 0.2, 0.1});
  for (float& logit : logits) logit += 30.0F;  // not normalised
  logits.push_back(1000.0F);                   // a spare row
  auto log_probabilities = LogProbabilities::Create(logits, 5);
  MF_REQUIRE_OK(log_probabilities);
  for (const int32_t id : {0, 1, 2}) {
    auto got = log_probabilities->Of(id);
    MF_REQUIRE_OK(got);
    REQUIRE(*got == Approx(std::log(0.1 * (1 << id))).margin(1e-5));
  }
  for (const int32_t id : {-1, 5, INT32_MAX}) {
    REQUIRE(log_probabilities->Of(id).status().code() == StatusCode::kOutOfRange);
  }
  std::vector<TokenLogProbability> top(8);
  std::vector<Candidate> scratch;
  REQUIRE(log_probabilities->Top(absl::MakeSpan(top).first(2), scratch) == 2);
  REQUIRE(top[0].token == 2);
  REQUIRE(top[1].token == 1);  // the lowest id of the two equals
  REQUIRE(top[0].log_probability == Approx(std::log(0.4)).margin(1e-5));
  REQUIRE(log_probabilities->Top(absl::MakeSpan(top), scratch) == 5);
  const std::vector<int32_t> want = {2, 1, 3, 0, 4};
  for (size_t i = 0; i < want.size(); ++i) REQUIRE(top[i].token == want[i]);
  REQUIRE(log_probabilities->Top({}, scratch) == 0);
}

TEST_CASE("LogProbabilities: D30 NaN and infinities", "[sampling]") {
  const std::vector<float> nan_row = {1.0F, std::nanf("")};
  REQUIRE(LogProbabilities::Create(nan_row, 2).status().code() == StatusCode::kDataLoss);
  const std::vector<float> empty_row = {-kInf, -kInf};
  REQUIRE(LogProbabilities::Create(empty_row, 2).status().code() == StatusCode::kDataLoss);
  REQUIRE(LogProbabilities::Create(nan_row, 3).status().code() == StatusCode::kInvalidArgument);
  const std::vector<float> row = {kInf, -kInf, 3.0F, kInf};
  auto log_probabilities = LogProbabilities::Create(row, 4);
  MF_REQUIRE_OK(log_probabilities);
  REQUIRE(*log_probabilities->Of(0) == Approx(std::log(0.5)));
  REQUIRE(*log_probabilities->Of(1) == -kInf);
  REQUIRE(*log_probabilities->Of(2) == -kInf);
}

}  // namespace
}  // namespace minfer::testing
