// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The texts of a vocabulary as an Aho-Corasick automaton: as a trie it gives the longest token at a
// place, and as an automaton all tokens that end at each place of a text read once.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash_map.h"

namespace minfer {

// Immutable once built.
class TokenAutomaton {
 public:
  static constexpr uint32_t kRoot = 0;

  struct Token {
    int32_t id;
    uint32_t length;  // bytes
  };

  TokenAutomaton();
  // Of two tokens with one text the first added holds. Empty texts are left out.
  void Add(std::string_view text, int32_t id);
  // After the last Add.
  void Build();
  bool empty() const { return nodes_.size() == 1; }

  // The trie: the child of `node` or kRoot when it has none, and the node's own token or -1.
  uint32_t Child(uint32_t node, uint8_t byte) const;
  int32_t Id(uint32_t node) const { return nodes_[node].id; }

  // The automaton: the state after one more byte. Adds what it took to `*steps`: over a whole text
  // at most two a byte.
  uint32_t Step(uint32_t state, uint8_t byte, uint64_t* steps) const;
  // The longest token that ends where the state was reached; an id of -1: none does.
  Token LongestEnding(uint32_t state) const {
    const Node& node = nodes_[nodes_[state].ending];
    return {node.id, node.depth};
  }
  // Calls `visit(Token)` for each token that ends where the state was reached, the longest first.
  template <typename Visit>
  void ForEachEnding(uint32_t state, Visit&& visit) const {
    for (uint32_t node = nodes_[state].ending; node != kRoot; node = nodes_[node].shorter) {
      visit(Token{nodes_[node].id, nodes_[node].depth});
    }
  }

 private:
  struct Node {
    uint32_t parent;
    uint32_t depth;
    uint32_t failure = kRoot;  // the longest proper suffix that is a node too
    uint32_t ending = kRoot;   // the longest suffix, itself included, that is a token; or kRoot
    uint32_t shorter = kRoot;  // the next shorter one
    int32_t id = -1;
    uint8_t byte;
  };
  static uint64_t EdgeKey(uint32_t node, uint8_t byte) { return uint64_t{node} << 8 | byte; }

  std::vector<Node> nodes_;
  HashMap<uint64_t, uint32_t> edges_;  // of nodes other than the root
  std::array<uint32_t, 256> root_edges_{};
};

}  // namespace minfer
