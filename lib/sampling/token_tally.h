// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A number for each token of the vocabulary, 0 at rest; it costs what was touched, not the
// vocabulary, and allocates nothing once it has its size.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace minfer {

class TokenTally {
 public:
  void Reserve(int32_t n_vocab) {
    if (values_.size() >= static_cast<size_t>(n_vocab)) return;
    touched_.reserve(n_vocab);
    values_.resize(n_vocab, 0);
  }
  // Ids outside the vocabulary (padding rows, another model's history) count nothing.
  bool Holds(int32_t token) const {
    return token >= 0 && static_cast<size_t>(token) < values_.size();
  }
  int32_t Get(int32_t token) const { return values_[token]; }
  // `value` is not 0.
  void Set(int32_t token, int32_t value) {
    if (values_[token] == 0) touched_.push_back(token);
    values_[token] = value;
  }
  absl::Span<const int32_t> touched() const { return touched_; }
  void Clear() {
    for (const int32_t token : touched_) values_[token] = 0;
    touched_.clear();
  }

 private:
  std::vector<int32_t> values_;
  std::vector<int32_t> touched_;
};

}  // namespace minfer
