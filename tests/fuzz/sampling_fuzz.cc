// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Samples with any settings from any logits. What validation lets through picks a token of the
// vocabulary, picks the same again, and says so when the logits are not to be sampled from.
#include <iterator>
#include <vector>

#include "sampling/sampler.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using minfer::SamplingSettings;
using minfer::testing::FuzzInput;

// Numbers where they mean something, so that most settings are sound; one field of every fourth
// input holds any bits at all.
SamplingSettings TakeSettings(FuzzInput& input, int32_t n_vocab) {
  SamplingSettings settings;
  settings.seed = input.Take<uint64_t>();
  struct Field {
    float* value;
    float low;
    float high;
  };
  const Field fields[] = {{&settings.temperature, 0, 4},
                          {&settings.top_p, 0, 1},
                          {&settings.min_p, 0, 1},
                          {&settings.typical_p, 0, 1},
                          {&settings.xtc_probability, 0, 1},
                          {&settings.xtc_threshold, 0, 1},
                          {&settings.repetition_penalty, 0, 3},
                          {&settings.frequency_penalty, -2, 2},
                          {&settings.presence_penalty, -2, 2},
                          {&settings.dry_multiplier, 0, 2},
                          {&settings.dry_base, 1, 4},
                          {&settings.mirostat_tau, 0, 10},
                          {&settings.mirostat_eta, 0, 1}};
  for (const Field& field : fields) {
    const float share = static_cast<float>(input.Take<uint8_t>()) / 255.0F;
    *field.value = field.low + (field.high - field.low) * share;
  }
  const uint8_t odd = input.Take<uint8_t>();
  if (odd % 4 == 0) *fields[(odd / 4) % std::size(fields)].value = input.Take<float>();
  settings.top_k = input.Take<uint8_t>() % 64;
  settings.penalty_last_n = input.Take<uint8_t>() % 66 - 1;
  settings.dry_allowed_length = input.Take<uint8_t>() % 8;
  settings.dry_last_n = input.Take<uint8_t>() % 66 - 1;
  settings.mirostat = input.Take<uint8_t>() % 4 == 0 ? 2 : 0;
  for (uint32_t n = input.Below(4); n > 0; --n) {
    const int32_t token = input.Take<uint8_t>() % n_vocab;
    settings.logit_bias.push_back({token, static_cast<float>(input.Take<int8_t>())});
  }
  for (uint32_t n = input.Below(4); n > 0; --n) {
    settings.dry_breakers.push_back(input.Take<uint8_t>() % n_vocab);
  }
  return settings;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  const int32_t n_vocab = 1 + static_cast<int32_t>(input.Below(100));
  const SamplingSettings settings = TakeSettings(input, n_vocab);
  std::vector<float> logits(static_cast<size_t>(n_vocab));
  std::vector<int32_t> history(input.Below(64));
  for (int32_t& token : history) token = input.Take<uint8_t>() % n_vocab;
  const bool any_bits = input.Take<uint8_t>() % 8 == 0;
  for (float& logit : logits) {
    logit = any_bits ? input.Take<float>() : static_cast<float>(input.Take<int8_t>()) / 4.0F;
  }
  minfer::StatusOr<minfer::Sampler> sampler = minfer::Sampler::Create(settings, n_vocab);
  if (!sampler.ok()) {
    FUZZ_REQUIRE(!sampler.status().message().empty());
    return 0;
  }
  minfer::SamplerScratch scratch;
  minfer::SampleInput sample{};
  sample.logits = logits;
  sample.history = history;
  for (int64_t position = 0; position < 4; ++position) {
    sample.position = position;
    const minfer::StatusOr<minfer::SampledToken> token = sampler->Sample(sample, scratch);
    const minfer::StatusOr<minfer::SampledToken> again = sampler->Sample(sample, scratch);
    FUZZ_REQUIRE(token.ok() == again.ok());
    if (!token.ok()) return 0;
    FUZZ_REQUIRE(token->token >= 0 && token->token < n_vocab);
    FUZZ_REQUIRE(token->token == again->token);
    sampler->Accept(*token);
  }
  sampler->Rewind(0);
  return 0;
}
