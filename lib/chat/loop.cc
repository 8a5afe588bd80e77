// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The names of the loop object.

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"

namespace minfer::chat {
namespace {

StatusOr<Value> LoopCycle(Runtime&, const Value& self, const CallArguments& args) {
  if (args.positional.empty()) return TemplateError("no items for cycling given");
  return args.positional[self.loop().index0 % args.positional.size()];
}

StatusOr<Value> LoopChanged(Runtime& rt, const Value& self, const CallArguments& args) {
  MF_ASSIGN_OR_RETURN(Value now, rt.make.Sequence(args.positional, SequenceKind::kTuple));
  LoopObject& loop = self.loop();
  MF_RETURN_IF_ERROR(rt.StepCompare(loop.changed, now));
  const bool changed = loop.changed.is(Kind::kUndefined) || !Equals(loop.changed, now);
  if (changed) loop.changed = std::move(now);
  return Value::Bool(changed);
}

constexpr BuiltinDef kLoopMethods[] = {{"cycle", LoopCycle}, {"changed", LoopChanged}};

}  // namespace

absl::Span<const BuiltinDef> LoopMethods() { return kLoopMethods; }

StatusOr<Value> LoopAttribute(Runtime& rt, const Value& value, std::string_view name) {
  const LoopObject& loop = value.loop();
  const int64_t index0 = static_cast<int64_t>(loop.index0);
  const int64_t length = static_cast<int64_t>(loop.items.size());
  if (name == "index0") return Value::Int(index0);
  if (name == "index") return Value::Int(index0 + 1);
  if (name == "first") return Value::Bool(index0 == 0);
  if (name == "last") return Value::Bool(index0 + 1 == length);
  if (name == "length") return Value::Int(length);
  if (name == "revindex") return Value::Int(length - index0);
  if (name == "revindex0") return Value::Int(length - index0 - 1);
  if (name == "depth0") return Value::Int(loop.depth0);
  if (name == "depth") return Value::Int(loop.depth0 + 1);
  if (name == "previtem") {
    if (index0 > 0 && index0 <= length) return loop.items[static_cast<size_t>(index0 - 1)];
    return rt.make.Undefined("there is no previous item", "previtem");
  }
  if (name == "nextitem") {
    if (index0 + 1 < length) return loop.items[static_cast<size_t>(index0 + 1)];
    return rt.make.Undefined("there is no next item", "nextitem");
  }
  return Value();
}

}  // namespace minfer::chat
