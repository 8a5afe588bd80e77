// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool BelongsToModel(std::string_view name) {
  for (size_t i = 0; i < mf_lever_count(); ++i) {
    mf_lever_info lever = MF_LEVER_INFO_INIT;
    if (mf_lever_get(i, &lever, nullptr) != MF_STATUS_OK) continue;
    if (name == lever.name) return lever.scope == MF_LEVER_MODEL;
  }
  return false;  // the library names what it does not know
}

}  // namespace

Tuning SplitTuning(const std::string& tuning) {
  Tuning split;
  for (size_t begin = 0; begin < tuning.size();) {
    const size_t end = std::min(tuning.find(',', begin), tuning.size());
    const std::string pair = tuning.substr(begin, end - begin);
    std::string& out = BelongsToModel(pair.substr(0, pair.find('='))) ? split.model : split.context;
    if (!out.empty()) out += ',';
    out += pair;
    begin = end + 1;
  }
  return split;
}

mf::Result<Runner> Runner::Create(const mf::Model& model, const RunnerSetup& setup) {
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = setup.n_ctx;
  options.n_threads = setup.n_threads;
  options.n_sessions = setup.n_sessions;
  options.n_batch = setup.n_batch;
  options.n_micro_batch = setup.n_micro_batch;
  options.kv_type_k = options.kv_type_v = setup.kv_type;
  options.tuning = setup.tuning.empty() ? nullptr : setup.tuning.c_str();
  mf::Result<mf::Context> context = mf::Context::create(model, &options);
  if (!context) return context.error();
  Runner runner;
  runner.model_ = &model;
  runner.context_ = *std::move(context);
  mf_sampling sampling;
  mf_sampling_init(&sampling, sizeof(sampling));
  if (setup.greedy) sampling.temperature = 0.0F;
  for (uint32_t i = 0; i < setup.n_sessions; ++i) {
    mf::Result<mf::Session> session = mf::Session::create(runner.context_);
    if (!session) return session.error();
    sampling.seed = i;
    mf::Result<void> set = session->set_sampling(sampling);
    if (!set) return set.error();
    runner.sessions_.push_back(*std::move(session));
  }
  return runner;
}

std::vector<mf_token> Runner::Tokens(uint32_t n) const {
  // Of the model: a file without a tokenizer has tokens too.
  const mf::Result<mf_model_info> info = model_->describe();
  const uint64_t n_vocab = info ? std::max(info->n_vocab, 1u) : 1u;
  std::vector<mf_token> tokens;
  uint64_t state = 1;
  // A vocabulary without plain tokens would never fill the list: then any id will do.
  for (uint32_t tries = 0; tokens.size() < n; ++tries) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const mf_token token = static_cast<mf_token>((state >> 33) % n_vocab);
    const bool plain = (mf_tokenizer_attributes(model_->get(), token) & MF_TOKEN_NORMAL) != 0;
    if (plain || tries > 100 * n) tokens.push_back(token);
  }
  return tokens;
}

uint64_t Runner::WeightBytesRead() const {
  const mf::Result<mf_context_statistics> statistics = context_.statistics();
  return statistics ? statistics->weight_bytes_read : 0;
}

mf::Result<void> Runner::Feed(uint32_t n) {
  const std::vector<mf_token> tokens = Tokens(n);
  for (mf::Session& session : sessions_) {
    mf::Result<void> fed = session.feed(tokens);
    if (!fed) return fed;
  }
  return {};
}

mf::Result<void> Runner::RunPending() {
  if (sessions_.size() == 1) return sessions_[0].decode();
  for (;;) {
    const mf::Result<mf_step_result> step = context_.step();
    if (!step) return step.error();
    if (step->n_runnable == 0) return {};
  }
}

// Leaves `depth` tokens in every session, by rewinding or by computing what is missing.
mf::Result<void> Runner::GoTo(uint32_t depth) {
  uint32_t least = depth;
  for (mf::Session& session : sessions_) least = std::min(least, session.position());
  for (mf::Session& session : sessions_) {
    mf::Result<void> done = session.truncate(least);
    if (!done) return done;
  }
  if (least == depth) return {};
  mf::Result<void> fed = Feed(depth - least);
  if (!fed) return fed;
  return RunPending();
}

mf::Result<Timing> Runner::Prompt(uint32_t depth, uint32_t n) {
  mf::Result<void> done = GoTo(depth);
  if (done) done = Feed(n);
  if (!done) return done.error();
  const uint64_t bytes = WeightBytesRead();
  const Clock::time_point start = Clock::now();
  done = RunPending();
  const double seconds = SecondsSince(start);
  if (!done) return done.error();
  return Timing{seconds, n * sessions_.size(), WeightBytesRead() - bytes};
}

// All sessions by steps, as a host with a loop of its own does it.
mf::Result<void> Runner::GenerateTogether(const mf_generate_options& options,
                                          std::vector<std::vector<mf_token>>* tokens) {
  mf::Error error;
  for (mf::Session& session : sessions_) {
    if (mf_session_start(session.get(), &options, error.out()) != MF_STATUS_OK) return error;
  }
  for (size_t n_left = sessions_.size(); n_left > 0;) {
    const mf::Result<mf_step_result> step = context_.step();
    if (!step) return step.error();
    for (size_t i = 0; i < sessions_.size(); ++i) {
      mf_token_event event = MF_TOKEN_EVENT_INIT;
      const mf_status status = mf_session_next(sessions_[i].get(), &event, error.out());
      if (status == MF_STATUS_OK) (*tokens)[i].push_back(event.token);
      if (status == MF_STATUS_OK && event.finish != MF_FINISH_NONE) --n_left;
      // FAILED_PRECONDITION: this one has ended already.
      if (status != MF_STATUS_OK && status != MF_STATUS_NOT_FOUND &&
          status != MF_STATUS_FAILED_PRECONDITION) {
        return error;
      }
    }
  }
  return {};
}

mf::Result<Timing> Runner::Generate(uint32_t depth, uint32_t n) {
  // The last token before is computed anew, so that there are logits to sample from.
  mf::Result<void> done = GoTo(std::max(depth, 1u) - 1);
  if (done) done = Feed(1);
  if (done) done = RunPending();
  if (!done) return done.error();
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = n;
  options.ignore_end = 1;
  std::vector<std::vector<mf_token>> tokens(sessions_.size());
  for (std::vector<mf_token>& list : tokens) list.reserve(n);
  const uint64_t bytes = WeightBytesRead();
  const Clock::time_point start = Clock::now();
  if (sessions_.size() == 1) {
    const mf::Result<mf_generate_result> result = sessions_[0].generate(
        [&](const mf_token_event& event) { tokens[0].push_back(event.token); }, &options);
    if (!result) return result.error();
  } else {
    done = GenerateTogether(options, &tokens);
    if (!done) return done.error();
  }
  Timing timing{SecondsSince(start), n * sessions_.size(), WeightBytesRead() - bytes};
  for (const std::vector<mf_token>& list : tokens) {
    timing.tokens.insert(timing.tokens.end(), list.begin(), list.end());
  }
  return timing;
}

mf::Result<double> Runner::Lead(uint32_t depth, const std::vector<mf_token>& generated,
                                mf_token chosen, mf_token other) {
  mf::Result<void> done = GoTo(std::max(depth, 1u) - 1);
  if (done) done = Feed(1);
  if (done) done = RunPending();
  // One by one, with the kernels that generated them.
  for (size_t i = 0; done && i < generated.size(); ++i) {
    done = sessions_[0].feed(std::vector<mf_token>{generated[i]});
    if (done) done = sessions_[0].decode();
  }
  if (!done) return done.error();
  const float* logits = nullptr;
  size_t count = 0;
  mf::Error error;
  if (mf_session_logits(sessions_[0].get(), &logits, &count, error.out()) != MF_STATUS_OK) {
    return error;
  }
  return static_cast<double>(logits[chosen]) - static_cast<double>(logits[other]);
}

}  // namespace bench
