// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What to measure, as the command line says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../common/device_option.h"

namespace bench {

enum class Format { kMarkdown, kCsv, kJson };

struct Options {
  std::vector<std::string> models;
  std::vector<uint32_t> n_prompt = {512};
  std::vector<uint32_t> n_generate = {128};
  std::vector<uint32_t> depths = {0};
  std::vector<uint32_t> threads = {0};
  std::vector<uint32_t> sessions = {1};
  std::vector<std::string> tunings;  // at least one; empty text is the defaults
  std::vector<mf_kv_type> kv_types = {MF_KV_DEFAULT};
  console::DeviceChoice device;
  uint32_t n_batch = 0;
  uint32_t n_micro_batch = 0;
  uint32_t repetitions = 5;
  bool warm_up = true;
  bool greedy = false;
  bool cancel = false;
  uint32_t encode_bytes = 0;  // 0: this is not measured
  bool kernels = false;
  Format format = Format::kMarkdown;
};

// Reads the command line. When the program shall end at once (help, or a mistake), returns false
// and sets `exit_code`.
bool ParseOptions(int argc, char** argv, Options* options, int* exit_code);

const char* KvTypeName(mf_kv_type type);

}  // namespace bench
