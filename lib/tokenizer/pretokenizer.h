// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Splits text into the pieces that byte-level BPE merges within, by a named rule.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer {

// Immutable once made, so any number of threads may split with it.
//
// Text that is not UTF-8 is kept byte for byte: a longest run of bytes that belong to no
// well-formed character is a piece of its own, and the text before it is split as if it ended
// there.
class Pretokenizer {
 public:
  // UNIMPLEMENTED, naming the rule, for one that is not in the table.
  static StatusOr<Pretokenizer> Create(std::string_view rule_name);

  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

  std::string_view rule_name() const { return rule_name_; }
  // The Llama 3 kind begins text with the bos token unless told otherwise, and takes a piece that
  // is itself a token whole.
  bool llama3_kind() const { return llama3_kind_; }

  // Appends the end of each piece of `text`, in order; the last one is text.size(). RESOURCE_
  // EXHAUSTED when the expression's engine would need more steps than linear work takes.
  Status Split(std::string_view text, std::vector<size_t>* ends) const;

 private:
  struct Pattern;
  Pretokenizer();

  std::string_view rule_name_;  // of the static table
  bool llama3_kind_ = false;
  std::vector<std::unique_ptr<Pattern>> patterns_;  // see SplittingRule::patterns
};

}  // namespace minfer
