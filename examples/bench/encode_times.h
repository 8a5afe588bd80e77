// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How long a model's tokenizer takes for megabytes of one thing, where naive ones need hours.
#pragma once

#include <minfer/minfer.hpp>

#include <string>
#include <vector>

#include "options.h"

namespace bench {

struct EncodeRow {
  std::string model;
  std::string text;  // what it repeats
  size_t n_bytes = 0;
  size_t n_tokens = 0;
  double seconds = 0.0;
};

// Encodes each text of `n_bytes` once. The model's weights are not run.
mf::Result<void> MeasureEncoding(const std::string& path, size_t n_bytes,
                                 std::vector<EncodeRow>* rows);

void WriteEncodeRows(const std::vector<EncodeRow>& rows, Format format);

}  // namespace bench
