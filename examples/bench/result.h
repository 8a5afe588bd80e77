// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What was measured: one row a test.
#pragma once

#include <minfer/minfer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Spread {
  double median = 0.0;
  double low = 0.0;   // first quartile
  double high = 0.0;  // third quartile
};

Spread SpreadOf(std::vector<double> samples);

struct Row {
  std::string model;  // "llama Q4_1"
  std::string path;
  uint64_t model_bytes = 0;
  uint64_t n_parameters = 0;
  std::string kernels;  // the kernel unit: "avx512_vnni"
  uint32_t n_threads = 0;
  uint32_t n_sessions = 1;
  std::string kv;
  std::string tuning;
  std::string test;                 // "pp512", "tg128 @ d4096"
  std::vector<double> samples;      // tokens a second of all sessions together
  double weight_bytes_second = 0;   // read by decode steps, median; 0 for prompts
  double machine_bytes_second = 0;  // 0: not measured
  std::vector<mf_token> tokens;     // that the last run generated, session after session
  bool greedy = false;
  // Where greedy ones part from those of the first tuning: how much its logit leads that of this
  // one's token there.
  double lead = 0.0;
};

// Of the tokens of a row, to compare runs by; empty for prompts.
std::string TokenHash(const Row& row);

// How long calls took to return after a cancel was requested, in milliseconds.
struct CancelRow {
  std::string model;
  std::string phase;  // "load", "prefill", "decode"
  uint32_t n_threads = 0;
  std::vector<double> samples;
};

}  // namespace bench
