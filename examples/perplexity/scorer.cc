// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "scorer.h"

#include <algorithm>
#include <utility>

void Spread::Add(double value) {
  ++count_;
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (value - mean_);
}

double Spread::half_width() const {
  if (count_ < 2) return 0.0;
  const auto n = static_cast<double>(count_);
  return 1.96 * std::sqrt(squares_ / (n - 1.0) / n);
}

mf::Result<void> Scorer::MakeLanes(size_t n_lanes) {
  while (lanes_.size() < n_lanes) {
    mf::Result<mf::Session> session = mf::Session::create(*context_);
    if (!session) return session.error();
    lanes_.push_back(Lane());
    lanes_.back().session = *std::move(session);
  }
  return {};
}

mf::Result<void> Scorer::StepAll() {
  mf_step_options options = MF_STEP_OPTIONS_INIT;
  options.cancel = options_.cancel;
  for (;;) {
    const mf::Result<mf_step_result> step = context_->step(&options);
    if (!step) return step.error();
    if (step->n_runnable == 0) return {};
  }
}

// Token after token: the logits are those after the last token that a session was fed.
mf::Result<void> Scorer::RunLanes(size_t n_lanes,
                                  const std::function<void(size_t done)>& progress) {
  size_t longest = 0;
  for (size_t k = 0; k < n_lanes; ++k) longest = std::max(longest, lanes_[k].n_tokens);
  for (size_t at = 0; at + 1 < longest; ++at) {
    for (size_t k = 0; k < n_lanes; ++k) {
      Lane& lane = lanes_[k];
      if (at + 1 >= lane.n_tokens) continue;
      const mf::Result<void> fed = lane.session.feed({lane.tokens[at]});
      if (!fed) return fed;
    }
    const mf::Result<void> stepped = StepAll();
    if (!stepped) return stepped;
    for (size_t k = 0; k < n_lanes; ++k) {
      Lane& lane = lanes_[k];
      if (at + 1 >= lane.n_tokens) continue;
      mf::Error error;
      float log_probability = 0.0f;
      if (mf_session_log_probabilities(lane.session.get(), &lane.tokens[at + 1], 1,
                                       &log_probability, error.out()) != MF_STATUS_OK) {
        return error;
      }
      lane.surprises.push_back(-static_cast<double>(log_probability));
      ++n_done_;
    }
    progress(n_done_);
  }
  return {};
}

mf::Result<void> Scorer::Run(const std::vector<mf_token>& tokens,
                             const std::function<void(const Chunk&)>& tell,
                             const std::function<void(size_t done)>& progress) {
  Chunk chunk;
  const size_t n_chunks = (tokens.size() + options_.chunk_tokens - 1) / options_.chunk_tokens;
  for (size_t first = 0; first < n_chunks; first += options_.n_parallel) {
    const size_t n_lanes = std::min(options_.n_parallel, n_chunks - first);
    const mf::Result<void> made = MakeLanes(n_lanes);
    if (!made) return made;
    for (size_t k = 0; k < n_lanes; ++k) {
      const size_t begin = (first + k) * options_.chunk_tokens;
      Lane& lane = lanes_[k];
      lane.tokens = tokens.data() + begin;
      lane.n_tokens = std::min(options_.chunk_tokens, tokens.size() - begin);
      lane.surprises.clear();
      const mf::Result<void> emptied = lane.session.truncate(0);
      if (!emptied) return emptied;
    }
    const mf::Result<void> ran = RunLanes(n_lanes, progress);
    if (!ran) return ran;
    for (size_t k = 0; k < n_lanes; ++k) {
      chunk.index = first + k;
      chunk.own = Spread();
      for (const double surprise : lanes_[k].surprises) {
        chunk.own.Add(surprise);
        chunk.total.Add(surprise);
      }
      if (chunk.own.count() > 0) tell(chunk);
    }
  }
  return {};
}
