// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One context with its sessions, and the two things that are measured on it. Everything goes
// through the public header, so sampling, the choice of kernels and the library's own bookkeeping
// are in the figures, as a host has them.
#pragma once

#include <minfer/minfer.hpp>

#include <memory>
#include <string>
#include <vector>

#include "options.h"

namespace bench {

// Splits a tuning text into the levers of the model and those of the context.
struct Tuning {
  std::string model;
  std::string context;
};
Tuning SplitTuning(const std::string& tuning);

struct RunnerSetup {
  uint32_t n_ctx = 0;
  uint32_t n_threads = 0;
  uint32_t n_sessions = 1;
  uint32_t n_batch = 0;
  uint32_t n_micro_batch = 0;
  mf_kv_type kv_type = MF_KV_DEFAULT;
  bool greedy = false;  // otherwise tokens are drawn, each session with a seed of its own
  std::string tuning;   // of the context
};

struct Timing {
  double seconds = 0.0;
  uint64_t n_tokens = 0;           // of all sessions
  uint64_t weight_bytes_read = 0;  // in that time
  std::vector<mf_token> tokens{};  // generated, session after session
};

class Runner {
 public:
  // The model must outlive it.
  static mf::Result<Runner> Create(const mf::Model& model, const RunnerSetup& setup);

  // Every session at `depth` computes a prompt of `n` tokens.
  mf::Result<Timing> Prompt(uint32_t depth, uint32_t n);
  // Every session at `depth` generates `n` tokens: sampled, and fed back.
  mf::Result<Timing> Generate(uint32_t depth, uint32_t n);

  // By how much the logit of `chosen` is above that of `other`, where `depth` tokens and then these
  // were generated, as Generate did.
  mf::Result<double> Lead(uint32_t depth, const std::vector<mf_token>& generated, mf_token chosen,
                          mf_token other);

  mf::Context& context() { return context_; }
  mf::Session& session() { return sessions_[0]; }
  // Tokens of plain text without meaning, the same at every call.
  std::vector<mf_token> Tokens(uint32_t n) const;

 private:
  Runner() = default;
  mf::Result<void> GoTo(uint32_t depth);
  mf::Result<void> Feed(uint32_t n);
  mf::Result<void> RunPending();
  // Appends what each session generated to its list.
  mf::Result<void> GenerateTogether(const mf_generate_options& options,
                                    std::vector<std::vector<mf_token>>* tokens);
  uint64_t WeightBytesRead() const;

  const mf::Model* model_ = nullptr;
  mf::Context context_;
  std::vector<mf::Session> sessions_;
};

}  // namespace bench
