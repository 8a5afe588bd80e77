// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "sampling/dry.h"

#include <algorithm>
#include <limits>

#include "sampling/logits.h"
#include "sampling/window.h"

namespace minfer {
namespace {

// The window read backwards: place 0 is the newest token.
class Reversed {
 public:
  explicit Reversed(absl::Span<const int32_t> window) : window_(window) {}
  int32_t operator[](size_t place) const { return window_[window_.size() - 1 - place]; }
  size_t size() const { return window_.size(); }

 private:
  absl::Span<const int32_t> window_;
};

// lengths[i] = how many tokens from place i on equal those from place 0 on: the Z array (D.
// Gusfield, "Algorithms on strings, trees and sequences", 1997, section 1.3). [left, right) is the
// match found so far that reaches farthest; no place is compared twice as its right end.
void MatchLengths(const Reversed& text, std::vector<int32_t>& lengths, SamplingCounts& counts) {
  const size_t n = text.size();
  lengths.assign(n, 0);
  size_t left = 0;
  size_t right = 0;
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < right ? std::min(right - i, static_cast<size_t>(lengths[i - left])) : 0;
    while (i + length < n && text[length] == text[i + length]) {
      ++length;
      ++counts.history_steps;
    }
    ++counts.history_steps;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
    lengths[i] = static_cast<int32_t>(length);
  }
}

// base^exponent by squaring, so the same bits everywhere; stops at a value past every logit.
double Power(double base, int32_t exponent) {
  constexpr double kEnough = std::numeric_limits<float>::max();
  double result = 1.0;
  for (double square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = std::min(result * square, kEnough);
    square = std::min(square * square, kEnough);
  }
  return result;
}

}  // namespace

bool DryIsOn(const SamplingSettings& settings) {
  return settings.dry_multiplier > 0.0F && settings.dry_last_n != 0;
}

void ApplyDry(const SamplingSettings& settings, absl::Span<const int32_t> sorted_breakers,
              absl::Span<const int32_t> history, absl::Span<float> logits, DryScratch& scratch,
              SamplingCounts& counts) {
  if (!DryIsOn(settings)) return;
  const auto is_breaker = [&](int32_t token) {
    return std::binary_search(sorted_breakers.begin(), sorted_breakers.end(), token);
  };
  const Reversed text(NewestTokens(history, settings.dry_last_n));
  size_t reach = 0;  // tokens newer than the newest breaker
  while (reach < text.size() && !is_breaker(text[reach])) ++reach;
  counts.history_steps += static_cast<int64_t>(reach);
  if (reach == 0) return;

  MatchLengths(text, scratch.match_lengths, counts);
  TokenTally& longest = scratch.longest;
  const int32_t shortest = std::max(settings.dry_allowed_length, 1);
  for (size_t i = 1; i < text.size(); ++i) {
    const int32_t length = std::min(scratch.match_lengths[i], static_cast<int32_t>(reach));
    const int32_t next = text[i - 1];
    if (length < shortest || !longest.Holds(next) || is_breaker(next)) continue;
    if (length > longest.Get(next)) longest.Set(next, length);
  }
  for (const int32_t token : longest.touched()) {
    const double penalty =
        settings.dry_multiplier *
        Power(settings.dry_base, longest.Get(token) - settings.dry_allowed_length);
    logits[token] = AddToLogit(logits[token], -penalty);
  }
  longest.Clear();
}

}  // namespace minfer
