// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_automaton.h"

#include <algorithm>

namespace minfer {

TokenAutomaton::TokenAutomaton() { nodes_.push_back({.parent = kRoot, .depth = 0, .byte = 0}); }

uint32_t TokenAutomaton::Child(uint32_t node, uint8_t byte) const {
  if (node == kRoot) return root_edges_[byte];
  const auto it = edges_.find(EdgeKey(node, byte));
  return it == edges_.end() ? kRoot : it->second;
}

void TokenAutomaton::Add(std::string_view text, int32_t id) {
  if (text.empty()) return;
  uint32_t node = kRoot;
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t child = Child(node, byte);
    if (child == kRoot) {
      child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({.parent = node, .depth = nodes_[node].depth + 1, .byte = byte});
      if (node == kRoot) {
        root_edges_[byte] = child;
      } else {
        edges_.emplace(EdgeKey(node, byte), child);
      }
    }
    node = child;
  }
  if (nodes_[node].id < 0) nodes_[node].id = id;
}

uint32_t TokenAutomaton::Step(uint32_t state, uint8_t byte, uint64_t* steps) const {
  while (true) {
    ++*steps;
    const uint32_t child = Child(state, byte);
    if (child != kRoot || state == kRoot) return child;
    state = nodes_[state].failure;
  }
}

void TokenAutomaton::Build() {
  // A node's failure is shorter than the node, so nodes are finished by depth.
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [this](uint32_t a, uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
  uint64_t steps = 0;
  for (uint32_t index : order) {
    if (index == kRoot) continue;
    Node& node = nodes_[index];
    if (node.depth > 1) node.failure = Step(nodes_[node.parent].failure, node.byte, &steps);
    node.shorter = nodes_[node.failure].ending;
    node.ending = node.id >= 0 ? index : node.shorter;
  }
}

}  // namespace minfer
