// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Hash tables that stay whole when memory runs out. Abseil's flat tables do not: a failed growth
// leaves them with a capacity that they do not have, and their destructor ends the process. Text
// keys are found by any kind of text.
#pragma once

#include <cstring>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace minfer {
namespace internal {

struct TextHash {
  using is_transparent = void;
  template <typename Text>
  size_t operator()(const Text& text) const {
    return absl::Hash<absl::string_view>()(absl::string_view(text.data(), text.size()));
  }
};

struct TextEqual {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return a.size() == b.size() &&
           (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }
};

template <typename Key>
inline constexpr bool kIsNumber = std::is_integral_v<Key>;
template <typename Key>
using HashOf = std::conditional_t<kIsNumber<Key>, absl::Hash<Key>, TextHash>;
template <typename Key>
using EqualOf = std::conditional_t<kIsNumber<Key>, std::equal_to<Key>, TextEqual>;

}  // namespace internal

template <typename Key, typename Value>
using HashMap = std::unordered_map<Key, Value, internal::HashOf<Key>, internal::EqualOf<Key>>;
template <typename Key>
using HashSet = std::unordered_set<Key, internal::HashOf<Key>, internal::EqualOf<Key>>;

}  // namespace minfer
