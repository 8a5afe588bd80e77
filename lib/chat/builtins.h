// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The filters, tests, methods and global functions of the language, found by name. Each is a plain
// function; nothing of the host is reachable through them.
#pragma once

#include <absl/types/span.h>

#include <string_view>

#include "base/status.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace minfer::chat {

// `self` is the value before the bar, the dot or "is"; none for a global function.
using BuiltinFunction = StatusOr<Value> (*)(Runtime& rt, const Value& self,
                                            const CallArguments& args);

struct BuiltinDef {
  std::string_view name;
  BuiltinFunction function;
};

const BuiltinDef* FindFilter(std::string_view name);
const BuiltinDef* FindTest(std::string_view name);
const BuiltinDef* FindGlobal(std::string_view name);
const BuiltinDef* FindMethod(const Value& self, std::string_view name);
// Methods that Python has and a sandbox refuses, such as list.append.
bool IsForbiddenMethod(const Value& self, std::string_view name);

// The tables that these search, a file each.
absl::Span<const BuiltinDef> TextFilters();
absl::Span<const BuiltinDef> NumberFilters();
absl::Span<const BuiltinDef> SequenceFilters();
absl::Span<const BuiltinDef> SelectionFilters();
absl::Span<const BuiltinDef> StringMethods();
absl::Span<const BuiltinDef> StringTestMethods();
absl::Span<const BuiltinDef> SequenceMethods();
absl::Span<const BuiltinDef> DictMethods();
absl::Span<const BuiltinDef> LoopMethods();

const BuiltinDef* FindIn(absl::Span<const BuiltinDef> table, std::string_view name);

}  // namespace minfer::chat
