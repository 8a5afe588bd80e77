// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Picks the next token of one session from a row of logits.
//
// A Sampler holds settings and the little state that the chain has; the session's token list is
// given with each call. A pick depends on (settings, logits, history, position) and, under
// mirostat, on what was accepted before that position. So a retried step, a rewind followed by the
// same tokens, and a copy made for a fork all pick the same again.
//
// Thread-compatible; a SamplerScratch serves one call at a time and any number of samplers.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "sampling/candidates.h"
#include "sampling/dry.h"
#include "sampling/mirostat.h"
#include "sampling/settings.h"
#include "sampling/token_tally.h"

namespace minfer {

// Working memory, some 28 bytes a token of the vocabulary. Nothing is allocated in Sample once the
// scratch has seen the vocabulary, save that DRY's match lengths grow with the history.
struct SamplerScratch {
  void Reserve(int32_t n_vocab);

  std::vector<float> logits;
  CandidateList candidates;
  TokenTally tally;
  DryScratch dry;
  SamplingCounts counts;  // of the newest call
};

// A host's hand in the chain: may change the copy of the logits that the chain works on, before any
// other step. A failure ends the call with its status.
struct LogitsEditor {
  Status (*edit)(void* user_data, absl::Span<float> logits) = nullptr;
  void* user_data = nullptr;
};

// One of the best entries of a row of logits.
struct TopLogit {
  int32_t id = 0;
  float logit = 0.0F;
};
inline constexpr int32_t kMaxTopLogits = 64;

struct SampleInput {
  absl::Span<const float> logits;  // a row; entries past the vocabulary are never returned
  // In the place of the row, where Sampler::TopSuffices: the same token is picked.
  absl::Span<const TopLogit> top = {};
  int64_t position = 0;                    // the position that the picked token will have
  absl::Span<const int32_t> history = {};  // the session's tokens before it, prompt included
  // Bit (id % 32) of word (id / 32) says that the token is allowed; empty allows every token.
  absl::Span<const uint32_t> allowed = {};
  LogitsEditor editor = {};
};

struct SampledToken {
  int32_t token = 0;
  int64_t position = 0;
  double mirostat_mu = 0.0;  // what Accept commits, 0 without mirostat
};

class Sampler {
 public:
  // Validates the settings against the vocabulary, ids [0, n_vocab).
  static StatusOr<Sampler> Create(SamplingSettings settings, int32_t n_vocab);

  // Picks a token and changes nothing, so a step that is not committed costs nothing.
  // DATA_LOSS: a logit is NaN, or all are -infinity. FAILED_PRECONDITION: bias, mask or editor left
  // no token. INVALID_ARGUMENT: the row or the mask is too short, or the editor left NaN.
  StatusOr<SampledToken> Sample(const SampleInput& input, SamplerScratch& scratch) const;

  // How many of a row's best entries a pick needs, at most kMaxTopLogits; 0: the row itself.
  int32_t TopNeeded() const;
  // Whether these entries, in rank order and without NaN, stand for their row.
  bool TopSuffices(absl::Span<const TopLogit> top) const;

  // The distribution that Sample draws from, in the order it is drawn in: probability is
  // weight / total of scratch.candidates.
  Status Distribution(const SampleInput& input, SamplerScratch& scratch) const;

  // Commits a picked token. Strong guarantee: on std::bad_alloc nothing has changed.
  void Accept(const SampledToken& token);

  // Forgets what was accepted at `position` and later.
  void Rewind(int64_t position);

  const SamplingSettings& settings() const { return settings_; }
  int32_t n_vocab() const { return n_vocab_; }

 private:
  Sampler(SamplingSettings settings, int32_t n_vocab);
  Status EditLogits(const SampleInput& input, SamplerScratch& scratch) const;
  Status Gather(const SampleInput& input, SamplerScratch& scratch) const;
  Status GatherRow(const SampleInput& input, SamplerScratch& scratch) const;
  void GatherTop(absl::Span<const TopLogit> top, SamplerScratch& scratch) const;
  // Returns the total weight before mirostat's cut; 0 without mirostat.
  double Truncate(const SampleInput& input, CandidateList& list) const;
  StatusOr<double> Run(const SampleInput& input, SamplerScratch& scratch) const;
  bool UsesMirostat() const { return settings_.mirostat == 2 && settings_.temperature > 0.0F; }
  double MirostatMu(int64_t position) const;

  SamplingSettings settings_;
  std::vector<int32_t> sorted_breakers_;
  int32_t n_vocab_ = 0;
  MirostatTrack mirostat_;
};

}  // namespace minfer
