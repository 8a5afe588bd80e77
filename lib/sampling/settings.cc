// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/settings.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace minfer {
namespace {

constexpr float kHuge = std::numeric_limits<float>::max();

Status Refuse(const char* field, double value, const std::string& rule) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kSampling,
                absl::StrCat(field, " ", value, ": must be ", rule))
      .WithName(field);
}

// Written so that NaN fails.
Status RequireRange(const char* field, double value, double low, double high, const char* rule) {
  return value >= low && value <= high ? OkStatus() : Refuse(field, value, rule);
}

Status RequireToken(const char* field, int32_t token, int32_t n_vocab) {
  if (token >= 0 && token < n_vocab) return OkStatus();
  return Status(StatusCode::kOutOfRange, Subsystem::kSampling,
                absl::StrCat(field, ": token ", token, " is outside the vocabulary of ", n_vocab))
      .WithName(field);
}

Status ValidateTruncations(const SamplingSettings& s) {
  MF_RETURN_IF_ERROR(RequireRange("temperature", s.temperature, 0, kHuge, "finite and at least 0"));
  MF_RETURN_IF_ERROR(RequireRange("top_k", s.top_k, 0, INT32_MAX, "at least 0 (0 is no limit)"));
  MF_RETURN_IF_ERROR(RequireRange("top_p", s.top_p, 0, 1, "from 0 to 1"));
  MF_RETURN_IF_ERROR(RequireRange("min_p", s.min_p, 0, kHuge, "finite and at least 0"));
  MF_RETURN_IF_ERROR(RequireRange("typical_p", s.typical_p, 0, 1, "from 0 to 1"));
  MF_RETURN_IF_ERROR(RequireRange("xtc_probability", s.xtc_probability, 0, 1, "from 0 to 1"));
  return RequireRange("xtc_threshold", s.xtc_threshold, 0, 1, "from 0 to 1");
}

Status ValidatePenalties(const SamplingSettings& s) {
  MF_RETURN_IF_ERROR(
      RequireRange("penalty_last_n", s.penalty_last_n, -1, INT32_MAX, "at least -1 (-1 is all)"));
  MF_RETURN_IF_ERROR(
      RequireRange("repetition_penalty", s.repetition_penalty, 0, kHuge, "finite and above 0"));
  if (s.repetition_penalty == 0.0F && s.penalty_last_n != 0) {
    return Refuse("repetition_penalty", 0, "above 0 (1 is off), as logits are divided by it");
  }
  MF_RETURN_IF_ERROR(
      RequireRange("frequency_penalty", s.frequency_penalty, -kHuge, kHuge, "finite"));
  return RequireRange("presence_penalty", s.presence_penalty, -kHuge, kHuge, "finite");
}

Status ValidateDry(const SamplingSettings& s, int32_t n_vocab) {
  MF_RETURN_IF_ERROR(
      RequireRange("dry_multiplier", s.dry_multiplier, 0, kHuge, "finite and at least 0"));
  const bool on = s.dry_multiplier > 0.0F && s.dry_last_n != 0;
  MF_RETURN_IF_ERROR(RequireRange("dry_base", s.dry_base, on ? 1 : 0, kHuge,
                                  on ? "finite and at least 1" : "finite and at least 0"));
  MF_RETURN_IF_ERROR(
      RequireRange("dry_allowed_length", s.dry_allowed_length, 0, INT32_MAX, "at least 0"));
  MF_RETURN_IF_ERROR(
      RequireRange("dry_last_n", s.dry_last_n, -1, INT32_MAX, "at least -1 (-1 is all)"));
  for (const int32_t token : s.dry_breakers) {
    MF_RETURN_IF_ERROR(RequireToken("dry_breakers", token, n_vocab));
  }
  return OkStatus();
}

Status ValidateMirostat(const SamplingSettings& s) {
  if (s.mirostat != 0 && s.mirostat != 2) {
    return Refuse("mirostat", s.mirostat, "0 (off) or 2 (version 2)");
  }
  MF_RETURN_IF_ERROR(
      RequireRange("mirostat_tau", s.mirostat_tau, 0, kHuge, "finite and at least 0"));
  return RequireRange("mirostat_eta", s.mirostat_eta, 0, kHuge, "finite and at least 0");
}

}  // namespace

SamplingSettings NeutralSamplingSettings() {
  SamplingSettings s;
  s.temperature = 1.0F;
  s.top_p = 1.0F;
  s.typical_p = 1.0F;
  s.xtc_threshold = 0.1F;
  s.penalty_last_n = 64;
  s.repetition_penalty = 1.0F;
  s.dry_base = 1.75F;
  s.dry_allowed_length = 2;
  s.dry_last_n = -1;
  s.mirostat_tau = 5.0F;
  s.mirostat_eta = 0.1F;
  return s;
}

SamplingSettings DefaultSamplingSettings() {
  SamplingSettings s = NeutralSamplingSettings();
  s.temperature = 0.8F;
  s.top_k = 40;
  s.top_p = 0.95F;
  s.min_p = 0.05F;
  return s;
}

Status Validate(const SamplingSettings& settings, int32_t n_vocab) {
  MF_RETURN_IF_ERROR(ValidateTruncations(settings));
  MF_RETURN_IF_ERROR(ValidatePenalties(settings));
  MF_RETURN_IF_ERROR(ValidateDry(settings, n_vocab));
  MF_RETURN_IF_ERROR(ValidateMirostat(settings));
  for (const LogitBias& entry : settings.logit_bias) {
    MF_RETURN_IF_ERROR(RequireToken("logit_bias", entry.token, n_vocab));
    // Refuses NaN and +infinity; -infinity is the way to ban a token.
    if (!(entry.bias <= kHuge)) {
      return Refuse("logit_bias", entry.bias, absl::StrCat("finite or -inf, token ", entry.token));
    }
  }
  return OkStatus();
}

}  // namespace minfer
