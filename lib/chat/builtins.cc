// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/builtins.h"

#include <algorithm>
#include <iterator>

namespace minfer::chat {

const BuiltinDef* FindIn(absl::Span<const BuiltinDef> table, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const BuiltinDef& def) { return def.name == name; });
  return it == table.end() ? nullptr : &*it;
}

const BuiltinDef* FindFilter(std::string_view name) {
  for (const auto table : {TextFilters(), SequenceFilters(), SelectionFilters(), NumberFilters()}) {
    if (const BuiltinDef* def = FindIn(table, name); def != nullptr) return def;
  }
  return nullptr;
}

const BuiltinDef* FindMethod(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::kString: {
      const BuiltinDef* def = FindIn(StringMethods(), name);
      return def != nullptr ? def : FindIn(StringTestMethods(), name);
    }
    case Kind::kDict:
      return FindIn(DictMethods(), name);
    case Kind::kLoop:
      return FindIn(LoopMethods(), name);
    case Kind::kSequence: {
      const SequenceKind kind = self.sequence().kind;
      const bool has_methods = kind == SequenceKind::kList || kind == SequenceKind::kTuple ||
                               kind == SequenceKind::kRange || kind == SequenceKind::kGroup;
      return has_methods ? FindIn(SequenceMethods(), name) : nullptr;
    }
    default:
      return nullptr;
  }
}

bool IsForbiddenMethod(const Value& self, std::string_view name) {
  static constexpr std::string_view kList[] = {"append", "clear",  "extend",  "insert",
                                               "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (self.is(Kind::kDict)) return in(kDict);
  return self.is_list() && self.sequence().kind == SequenceKind::kList && in(kList);
}

}  // namespace minfer::chat
