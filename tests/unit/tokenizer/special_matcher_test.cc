// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/special_matcher.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/tokenizer/test_vocabulary.h"

namespace minfer {
namespace {

using Found = std::vector<std::pair<size_t, int32_t>>;

SpecialMatcher Build(const std::vector<std::string>& texts) {
  SpecialMatcher matcher;
  for (size_t i = 0; i < texts.size(); ++i) matcher.Add(texts[i], static_cast<int32_t>(i));
  matcher.Build();
  return matcher;
}

Found Find(const SpecialMatcher& matcher, std::string_view text) {
  std::vector<SpecialMatcher::Match> matches;
  uint64_t steps = 0;
  matcher.Find(text, 0, &matches, &steps);
  CHECK(steps <= 2 * text.size());
  Found found;
  for (const auto& match : matches) found.emplace_back(match.begin, match.id);
  return found;
}

// Leftmost, longest, the plain way.
Found FindSlowly(const std::vector<std::string>& texts, std::string_view text) {
  Found found;
  for (size_t i = 0; i < text.size();) {
    int32_t best = -1;
    for (size_t k = 0; k < texts.size(); ++k) {
      const bool here = !texts[k].empty() && text.substr(i, texts[k].size()) == texts[k];
      if (here && (best < 0 || texts[k].size() > texts[static_cast<size_t>(best)].size())) {
        best = static_cast<int32_t>(k);
      }
    }
    if (best >= 0) found.emplace_back(i, best);
    i += best >= 0 ? texts[static_cast<size_t>(best)].size() : 1;
  }
  return found;
}

TEST_CASE("SpecialMatcher: takes the leftmost, then the longest (B23)", "[tokenizer]") {
  const SpecialMatcher matcher = Build({"<a", "<a>", "", "bcd", "ab", "<a"});
  CHECK(Find(matcher, "<a>b") == Found{{0, 1}});
  CHECK(Find(matcher, "x<a<a>") == Found{{1, 0}, {3, 1}});
  CHECK(Find(matcher, "abcd") == Found{{0, 4}});
  CHECK(Find(matcher, "").empty());
  CHECK(Find(Build({}), "abc").empty());
}

TEST_CASE("SpecialMatcher: agrees with trying every token at every place", "[tokenizer]") {
  testing::Random random(7);
  const auto word = [&random](size_t longest) {
    std::string text;
    for (uint64_t i = 0, n = random.Below(longest + 1); i < n; ++i) {
      text += static_cast<char>('a' + random.Below(2));
    }
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> texts;
    for (uint64_t i = 0, n = random.Below(6); i < n; ++i) texts.push_back(word(5));
    const std::string text = word(40);
    INFO("text " << text);
    CHECK(Find(Build(texts), text) == FindSlowly(texts, text));
  }
}

TEST_CASE("SpecialMatcher: a token that almost matches everywhere costs no more", "[tokenizer]") {
  constexpr size_t kBytes = 1 << 20;
  const std::string run(70000, 'z');
  // Find checks the steps.
  CHECK(Find(Build({run + "!", "!" + run, "zz"}), std::string(kBytes, 'z')).size() == kBytes / 2);
  CHECK(Find(Build({run}), std::string(kBytes, 'z')).size() == kBytes / run.size());
}

}  // namespace
}  // namespace minfer
