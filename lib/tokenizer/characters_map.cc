// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/characters_map.h"

#include <algorithm>

#include "base/str_cat.h"
#include "tokenizer/utf8.h"

namespace minfer {
namespace {

constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
// Published entries are a few characters long. The bounds keep the work and the memory for hostile
// ones in proportion to the text.
constexpr size_t kLongestEntry = 64;
constexpr size_t kLongestReplacement = 256;

// A unit of the double array: where the children begin, whether a value belongs to the node, and
// the byte that leads here; or, in a leaf, the value.
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Label(uint32_t unit) { return unit & (0x80000000u | 0xFF); }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFFu; }

Status Invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kTokenizer, std::move(message))
      .WithName(kKey);
}

}  // namespace

StatusOr<CharactersMap> CharactersMap::Create(const std::vector<uint8_t>& bytes) {
  CharactersMap map;
  if (bytes.empty()) return map;
  if (bytes.size() < 4) return Invalid("the map is too short for its size field");
  const auto word = [&bytes](size_t at) {
    return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 |
           uint32_t{bytes[at + 3]} << 24;
  };
  const uint32_t trie_bytes = word(0);
  if (trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4) {
    return Invalid(StrCat("a trie of ", trie_bytes, " bytes in a map of ", bytes.size()));
  }
  map.units_.resize(trie_bytes / 4);
  for (size_t i = 0; i < map.units_.size(); ++i) map.units_[i] = word(4 + 4 * i);
  map.replacements_.assign(bytes.begin() + 4 + trie_bytes, bytes.end());
  return map;
}

CharactersMap::Entry CharactersMap::LongestAt(std::string_view text, uint64_t* steps) const {
  Entry longest;
  if (units_.empty()) return longest;
  uint32_t node = Offset(units_[0]);
  for (size_t i = 0; i < std::min(text.size(), kLongestEntry); ++i) {
    ++*steps;
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= units_.size() || Label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= units_.size()) break;
    longest = {i + 1, Value(units_[node])};
  }
  return longest;
}

StatusOr<std::string> CharactersMap::Apply(std::string_view text, uint64_t* steps) const {
  if (units_.empty()) return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Entry entry = LongestAt(text, steps);
    if (entry.length == 0) {
      const size_t length = std::max<size_t>(1, Utf8CharacterLength(text));
      result.append(text.data(), length);
      text.remove_prefix(length);
      continue;
    }
    if (entry.replacement >= replacements_.size()) {
      return Invalid(
          StrCat("an entry points to byte ", entry.replacement, " of ", replacements_.size()));
    }
    const std::string_view rest = std::string_view(replacements_).substr(entry.replacement);
    const size_t length = rest.substr(0, kLongestReplacement + 1).find('\0');
    if (length == std::string_view::npos) {
      return Invalid(StrCat("a replacement does not end within ", kLongestReplacement, " bytes"));
    }
    result.append(rest.data(), length);
    text.remove_prefix(entry.length);
  }
  return result;
}

}  // namespace minfer
