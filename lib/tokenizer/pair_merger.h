// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Merges adjacent symbols of one piece of text, lowest rank first and leftmost on a tie: the loop
// that byte-level BPE and SentencePiece-style vocabularies share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minfer {

// What encoding took, added up over calls.
struct EncodeStats {
  uint64_t pieces = 0;         // stretches of text that were merged within
  uint64_t merges = 0;         // pairs that became one symbol
  uint64_t dropped_bytes = 0;  // that the vocabulary has no token for
  // Bytes searched for special tokens, symbols laid out, pairs looked up and comparisons of the
  // merge queue: in proportion to n log n at most.
  uint64_t steps = 0;
};

// One merge that a pair of symbols allows.
struct PairMerge {
  uint32_t rank;
  uint32_t result;
};
inline constexpr uint32_t kNoRank = UINT32_MAX;

// Scratch memory, kept from piece to piece.
class PairMerger {
 public:
  // A position holds a symbol, which begins there and ends where the next one begins.
  void Clear();
  void Add(uint32_t symbol) { symbols_.push_back(symbol); }

  // `lookup(left, right)` takes two adjacent positions and returns a PairMerge, whose rank is
  // kNoRank when the two do not merge.
  template <typename Lookup>
  void Merge(Lookup&& lookup, EncodeStats* stats);

  // The positions that are left, in order: `for (p = 0; p < size(); p = Next(p))`.
  uint32_t size() const { return static_cast<uint32_t>(symbols_.size()); }
  uint32_t Next(uint32_t position) const { return next_[position]; }
  uint32_t Symbol(uint32_t position) const { return symbols_[position]; }

 private:
  // Ranks above, positions below, so that the least key is the next merge.
  static uint64_t Key(uint32_t rank, uint32_t position) { return uint64_t{rank} << 32 | position; }
  void Push(uint64_t key, EncodeStats* stats);
  uint64_t Pop(EncodeStats* stats);
  template <typename Lookup>
  void Offer(uint32_t left, Lookup&& lookup, EncodeStats* stats);

  std::vector<uint32_t> symbols_;
  std::vector<uint32_t> next_;
  std::vector<uint32_t> previous_;
  // The merge of the pair that starts at a position, rank kNoRank for none. A queue entry whose
  // rank is no longer this one is stale and skipped.
  std::vector<PairMerge> pairs_;
  std::vector<uint64_t> queue_;  // a heap
};

template <typename Lookup>
void PairMerger::Offer(uint32_t left, Lookup&& lookup, EncodeStats* stats) {
  const uint32_t right = next_[left];
  pairs_[left].rank = kNoRank;
  if (right >= size()) return;
  ++stats->steps;
  pairs_[left] = lookup(left, right);
  if (pairs_[left].rank != kNoRank) Push(Key(pairs_[left].rank, left), stats);
}

template <typename Lookup>
void PairMerger::Merge(Lookup&& lookup, EncodeStats* stats) {
  const uint32_t count = size();
  ++stats->pieces;
  stats->steps += count;
  next_.resize(count);
  previous_.resize(count);
  pairs_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1;
    previous_[i] = i - 1;  // never read for the first
  }
  for (uint32_t i = 0; i < count; ++i) Offer(i, lookup, stats);
  // Every merge removes a symbol and offers at most two pairs, so at most 3 n entries pass through.
  while (!queue_.empty()) {
    const uint64_t key = Pop(stats);
    const auto left = static_cast<uint32_t>(key);
    if (pairs_[left].rank != static_cast<uint32_t>(key >> 32)) continue;
    const uint32_t right = next_[left];
    ++stats->merges;
    symbols_[left] = pairs_[left].result;
    next_[left] = next_[right];
    pairs_[right].rank = kNoRank;
    if (next_[left] < count) previous_[next_[left]] = left;
    Offer(left, lookup, stats);
    if (left > 0) Offer(previous_[left], lookup, stats);
  }
}

}  // namespace minfer
