// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic, membership, subscripts and iteration.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/ast.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace minfer::chat {

StatusOr<Value> Arithmetic(Runtime& rt, Operator op, const Value& a, const Value& b);
StatusOr<Value> Signed(Runtime& rt, bool negative, const Value& value);
// The comparison operators, in and not in included.
StatusOr<bool> CompareWith(Runtime& rt, Operator op, const Value& a, const Value& b);
StatusOr<bool> Contains(Runtime& rt, const Value& container, const Value& item);

// x.name: what the type offers comes before what a mapping holds.
StatusOr<Value> GetAttribute(Runtime& rt, const Value& object, std::string_view name);
// x[key]: what the value holds comes first.
StatusOr<Value> GetItem(Runtime& rt, const Value& object, const Value& key);
// x[begin:end:step]; None stands for a bound that is absent.
StatusOr<Value> GetSlice(Runtime& rt, const Value& object, const Value& begin, const Value& end,
                         const Value& step);

// The items that a loop over the value sees.
StatusOr<std::vector<Value>> Iterate(Runtime& rt, const Value& value);
StatusOr<size_t> Length(const Value& value);

// The steps of a filter, test or method that reads the whole of a text.
Status StepInput(Runtime& rt, const Value& self);

// loop.index and its like; undefined where there is no such name.
StatusOr<Value> LoopAttribute(Runtime& rt, const Value& loop, std::string_view name);

}  // namespace minfer::chat
