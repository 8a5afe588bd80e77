// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/special_matcher.h"

#include <string>

namespace minfer {

void SpecialMatcher::Add(std::string_view text, int32_t id) {
  reversed_.Add(std::string(text.rbegin(), text.rend()), id);
}

void SpecialMatcher::Find(std::string_view text, size_t offset, std::vector<Match>* matches,
                          uint64_t* steps) const {
  if (reversed_.empty()) return;
  // Every place where a token begins, with the longest one, from the last place to the first.
  std::vector<Match> found;
  uint32_t state = TokenAutomaton::kRoot;
  for (size_t i = text.size(); i-- > 0;) {
    state = reversed_.Step(state, static_cast<uint8_t>(text[i]), steps);
    const TokenAutomaton::Token token = reversed_.LongestEnding(state);
    if (token.id >= 0) found.push_back({i, i + token.length, token.id});
  }
  size_t end = 0;
  for (auto match = found.rbegin(); match != found.rend(); ++match) {
    if (match->begin < end) continue;
    end = match->end;
    matches->push_back({match->begin + offset, match->end + offset, match->id});
  }
}

}  // namespace minfer
