// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How surprised a model is by a text: the negative logarithm of the probability of each token after
// those before it in its chunk. Chunks stand alone; several run side by side in one context, so
// that the weights are read once for all of them.
#pragma once

#include <minfer/minfer.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

// Mean and spread of numbers that come one by one (Welford's method).
class Spread {
 public:
  void Add(double value);
  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Half the width of the interval that holds the true mean with 95 %, the numbers taken for
  // independent.
  double half_width() const;

 private:
  uint64_t count_ = 0;
  double mean_ = 0.0;
  double squares_ = 0.0;  // of the distances from the mean
};

struct Chunk {
  size_t index = 0;
  Spread own;    // of this chunk's tokens
  Spread total;  // of all tokens up to its end
};

struct ScoreOptions {
  size_t chunk_tokens = 512;
  size_t n_parallel = 8;
  const mf_cancel* cancel = nullptr;
};

class Scorer {
 public:
  // The context must have room for `n_parallel` sessions of `chunk_tokens` tokens.
  Scorer(mf::Context* context, ScoreOptions options) : context_(context), options_(options) {}

  // Tells each chunk in order, and after every step how many of the text's tokens are done.
  mf::Result<void> Run(const std::vector<mf_token>& tokens,
                       const std::function<void(const Chunk&)>& tell,
                       const std::function<void(size_t done)>& progress);

 private:
  struct Lane {
    mf::Session session;
    const mf_token* tokens = nullptr;
    size_t n_tokens = 0;
    std::vector<double> surprises;
  };

  mf::Result<void> MakeLanes(size_t n_lanes);
  mf::Result<void> RunLanes(size_t n_lanes, const std::function<void(size_t done)>& progress);
  mf::Result<void> StepAll();

  mf::Context* context_;
  ScoreOptions options_;
  std::vector<Lane> lanes_;
  size_t n_done_ = 0;
};
