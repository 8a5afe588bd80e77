// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace minfer {

SpecialMatcher::SpecialMatcher() { nodes_.push_back({.parent = kRoot, .depth = 0, .byte = 0}); }

uint32_t SpecialMatcher::Child(uint32_t node, uint8_t byte) const {
  if (node == kRoot) return root_edges_[byte];
  const auto it = edges_.find(EdgeKey(node, byte));
  return it == edges_.end() ? kRoot : it->second;
}

void SpecialMatcher::Add(std::string_view text, int32_t id) {
  if (text.empty()) return;
  uint32_t node = kRoot;
  for (size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<uint8_t>(text[i]);
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
  if (nodes_[node].id >= 0) return;
  nodes_[node].id = id;
  nodes_[node].length = static_cast<uint32_t>(text.size());
}

uint32_t SpecialMatcher::Step(uint32_t node, uint8_t byte, uint64_t* steps) const {
  while (true) {
    ++*steps;
    const uint32_t child = Child(node, byte);
    if (child != kRoot || node == kRoot) return child;
    node = nodes_[node].failure;
  }
}

void SpecialMatcher::Build() {
  // A node's failure is shorter than the node, so nodes are finished by depth.
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [this](uint32_t a, uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
  uint64_t steps = 0;
  for (uint32_t index : order) {
    Node& node = nodes_[index];
    if (node.depth > 1) node.failure = Step(nodes_[node.parent].failure, node.byte, &steps);
    if (node.id < 0) {
      node.id = nodes_[node.failure].id;
      node.length = nodes_[node.failure].length;
    }
  }
}

void SpecialMatcher::Find(std::string_view text, size_t offset, std::vector<Match>* matches,
                          uint64_t* steps) const {
  if (nodes_.size() == 1) return;
  // Every place where a token begins, with the longest one, from the last place to the first.
  std::vector<Match> found;
  uint32_t state = kRoot;
  for (size_t i = text.size(); i-- > 0;) {
    state = Step(state, static_cast<uint8_t>(text[i]), steps);
    if (nodes_[state].id >= 0) found.push_back({i, i + nodes_[state].length, nodes_[state].id});
  }
  size_t end = 0;
  for (auto match = found.rbegin(); match != found.rend(); ++match) {
    if (match->begin < end) continue;
    end = match->end;
    matches->push_back({match->begin + offset, match->end + offset, match->id});
  }
}

}  // namespace minfer
