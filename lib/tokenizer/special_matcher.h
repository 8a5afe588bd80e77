// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Finds the special tokens of a vocabulary in text, leftmost first and the longest of those that
// start at one place, in time that grows with the text alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash_map.h"

namespace minfer {

// Immutable once built.
class SpecialMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    int32_t id;
  };

  SpecialMatcher();
  // Of two tokens with one text the first added holds. Empty texts are never found.
  void Add(std::string_view text, int32_t id);
  // After the last Add.
  void Build();
  // Appends the matches in `text`, in order and apart from each other, `offset` added to their
  // places. Adds the automaton's steps to `*steps`: at most two for each byte.
  void Find(std::string_view text, size_t offset, std::vector<Match>* matches,
            uint64_t* steps) const;

 private:
  // An Aho-Corasick automaton over the reversed texts. Reading a text from its end, the state tells
  // at each place which tokens begin there.
  static constexpr uint32_t kRoot = 0;
  struct Node {
    uint32_t parent;
    uint32_t failure = kRoot;  // the longest proper suffix that is a node too
    uint32_t depth;
    int32_t id = -1;      // of the longest token that ends the node's string, or -1
    uint32_t length = 0;  // that token's
    uint8_t byte;
  };
  static uint64_t EdgeKey(uint32_t node, uint8_t byte) { return uint64_t{node} << 8 | byte; }
  // The child of `node`, or kRoot when it has none.
  uint32_t Child(uint32_t node, uint8_t byte) const;
  uint32_t Step(uint32_t node, uint8_t byte, uint64_t* steps) const;

  std::vector<Node> nodes_;
  HashMap<uint64_t, uint32_t> edges_;  // of nodes other than the root
  std::array<uint32_t, 256> root_edges_{};
};

}  // namespace minfer
