// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/sampling.h"

#include <utility>

#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "sampling/settings.h"

namespace minfer::capi {

StatusOr<mf_sampling> ReadSamplingStruct(const mf_sampling* in) {
  if (in == nullptr) {
    mf_sampling defaults;
    mf_sampling_init(&defaults, sizeof(defaults));
    return defaults;
  }
  // All zero is a value, so 0 stands for the first version's size.
  const size_t size = in->struct_size == 0 ? FirstSize<mf_sampling>() : in->struct_size;
  MF_ASSIGN_OR_RETURN(const mf_sampling sampling, ReadSized(in, size, "mf_sampling"));
  MF_RETURN_IF_ERROR(CheckReserved(&sampling.reserved, sizeof(sampling.reserved), "mf_sampling"));
  if (sampling.dry_breakers == nullptr && sampling.n_dry_breakers != 0) {
    return NullArgument("dry_breakers");
  }
  if (sampling.logit_bias == nullptr && sampling.n_logit_bias != 0) {
    return NullArgument("logit_bias");
  }
  return sampling;
}

StatusOr<SamplingSettings> ReadSampling(const mf_sampling* in) {
  if (in == nullptr) return DefaultSamplingSettings();
  MF_ASSIGN_OR_RETURN(const mf_sampling sampling, ReadSamplingStruct(in));
  SamplingSettings settings;
  settings.seed = sampling.seed;
  settings.temperature = sampling.temperature;
  settings.top_k = sampling.top_k;
  settings.top_p = sampling.top_p;
  settings.min_p = sampling.min_p;
  settings.typical_p = sampling.typical_p;
  settings.xtc_probability = sampling.xtc_probability;
  settings.xtc_threshold = sampling.xtc_threshold;
  settings.penalty_last_n = sampling.penalty_last_n;
  settings.repetition_penalty = sampling.repetition_penalty;
  settings.frequency_penalty = sampling.frequency_penalty;
  settings.presence_penalty = sampling.presence_penalty;
  settings.dry_multiplier = sampling.dry_multiplier;
  settings.dry_base = sampling.dry_base;
  settings.dry_allowed_length = sampling.dry_allowed_length;
  settings.dry_last_n = sampling.dry_last_n;
  for (size_t i = 0; i < sampling.n_dry_breakers; ++i) {
    settings.dry_breakers.push_back(sampling.dry_breakers[i]);
  }
  settings.mirostat = sampling.mirostat;
  settings.mirostat_tau = sampling.mirostat_tau;
  settings.mirostat_eta = sampling.mirostat_eta;
  for (size_t i = 0; i < sampling.n_logit_bias; ++i) {
    settings.logit_bias.push_back({sampling.logit_bias[i].token, sampling.logit_bias[i].bias});
  }
  return settings;
}

namespace {

mf_sampling DefaultsOf(const SamplingSettings& settings) {
  mf_sampling out{};
  out.seed = settings.seed;
  out.temperature = settings.temperature;
  out.top_k = settings.top_k;
  out.top_p = settings.top_p;
  out.min_p = settings.min_p;
  out.typical_p = settings.typical_p;
  out.xtc_probability = settings.xtc_probability;
  out.xtc_threshold = settings.xtc_threshold;
  out.penalty_last_n = settings.penalty_last_n;
  out.repetition_penalty = settings.repetition_penalty;
  out.frequency_penalty = settings.frequency_penalty;
  out.presence_penalty = settings.presence_penalty;
  out.dry_multiplier = settings.dry_multiplier;
  out.dry_base = settings.dry_base;
  out.dry_allowed_length = settings.dry_allowed_length;
  out.dry_last_n = settings.dry_last_n;
  out.mirostat = settings.mirostat;
  out.mirostat_tau = settings.mirostat_tau;
  out.mirostat_eta = settings.mirostat_eta;
  return out;
}

}  // namespace
}  // namespace minfer::capi

void mf_sampling_init(mf_sampling* out, size_t struct_size) {
  namespace capi = minfer::capi;
  capi::InitSized(out, struct_size);
  if (out == nullptr || struct_size < capi::FirstSize<mf_sampling>()) return;
  capi::GuardVoid([&] {
    mf_sampling defaults = capi::DefaultsOf(minfer::DefaultSamplingSettings());
    capi::WriteSized(defaults, out);
  });
}
