// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/selection.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"

namespace minfer::chat {
namespace {

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

StatusOr<std::vector<Value>> ParsePath(Runtime& rt, std::string_view text) {
  std::vector<Value> path;
  for (std::string_view part : SplitAt(text, '.')) {
    int64_t index = 0;
    const char* end = part.data() + part.size();
    const bool digits =
        !part.empty() && part[0] != '-' && std::from_chars(part.data(), end, index).ptr == end;
    if (digits) {
      path.push_back(Value::Int(index));
    } else {
      MF_ASSIGN_OR_RETURN(Value name, rt.make.String(std::string(part)));
      path.push_back(std::move(name));
    }
  }
  return path;
}

// A filter or test by name with the arguments that follow it.
struct NamedCall {
  const BuiltinDef* def = nullptr;
  CallArguments args;
};

StatusOr<NamedCall> NameAndRest(const CallArguments& args, size_t skip, std::string_view what,
                                const BuiltinDef* (*find)(std::string_view)) {
  const Value& name = args.positional[skip];
  if (!name.is(Kind::kString)) {
    return TemplateError(StrCat("the ", what, "'s name must be a string"));
  }
  NamedCall call;
  call.def = find(name.str());
  if (call.def == nullptr) {
    return Status(StatusCode::kUnimplemented, Subsystem::kChat,
                  StrCat("no ", what, " named '", name.str(), "'"));
  }
  call.args.positional.assign(args.positional.begin() + skip + 1, args.positional.end());
  call.args.named = args.named;
  return call;
}

// What is false, none included, has no items for these filters.
StatusOr<std::vector<Value>> ItemsOrNone(Runtime& rt, const Value& value) {
  if (!IsTrue(value)) return std::vector<Value>();
  return Iterate(rt, value);
}

StatusOr<Value> MapAttribute(Runtime& rt, const std::vector<Value>& items,
                             const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("map", {"attribute", "default"}, 1, a));
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter, AttributeGetter::Make(rt, a[0]));
  std::vector<Value> out;
  for (const Value& item : items) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(Value value, getter.Get(rt, item, a[1]));
    out.push_back(std::move(value));
  }
  return rt.make.Sequence(std::move(out), SequenceKind::kGenerator);
}

StatusOr<Value> FilterMap(Runtime& rt, const Value& self, const CallArguments& args) {
  if (args.positional.empty() && args.named.empty()) {
    return TemplateError("map requires a filter argument");
  }
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOrNone(rt, self));
  if (args.positional.empty()) return MapAttribute(rt, items, args);
  MF_ASSIGN_OR_RETURN(const NamedCall call, NameAndRest(args, 0, "filter", FindFilter));
  std::vector<Value> out;
  for (const Value& item : items) {
    MF_RETURN_IF_ERROR(StepInput(rt, item));
    MF_ASSIGN_OR_RETURN(Value value, call.def->function(rt, item, call.args));
    out.push_back(std::move(value));
  }
  return rt.make.Sequence(std::move(out), SequenceKind::kGenerator);
}

// select, reject, selectattr and rejectattr: by the item or one of its attributes, by a test or by
// its truth.
template <bool kByAttribute, bool kKeep>
StatusOr<Value> FilterSelect(Runtime& rt, const Value& self, const CallArguments& args) {
  constexpr size_t kSkip = kByAttribute ? 1 : 0;
  if (args.positional.size() < kSkip) return TemplateError("missing parameter for attribute name");
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOrNone(rt, self));
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter,
                      AttributeGetter::Make(rt, kByAttribute ? &args.positional[0] : nullptr));
  NamedCall call;
  if (args.positional.size() > kSkip) {
    MF_ASSIGN_OR_RETURN(call, NameAndRest(args, kSkip, "test", FindTest));
  }
  std::vector<Value> out;
  for (const Value& item : items) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(Value probe, getter.Get(rt, item, nullptr));
    if (call.def != nullptr) {
      MF_RETURN_IF_ERROR(StepInput(rt, probe));
      MF_ASSIGN_OR_RETURN(probe, call.def->function(rt, probe, call.args));
    }
    if (IsTrue(probe) == kKeep) out.push_back(item);
  }
  return rt.make.Sequence(std::move(out), SequenceKind::kGenerator);
}

StatusOr<Value> FilterDefault(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("default", {"default_value", "boolean"}, 0, a));
  const bool keep = self.is(Kind::kUndefined) ? false : IsTrue(self) || !BoolArgument(a[1], false);
  if (keep) return self;
  return a[0] != nullptr ? StatusOr<Value>(*a[0]) : rt.make.String(std::string());
}

StatusOr<Value> FilterAttr(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("attr", {"name"}, 1, a));
  if (!a[0]->is(Kind::kString) || self.is(Kind::kDict)) {
    return rt.make.Undefined("no such attribute", "attr");
  }
  return GetAttribute(rt, self, a[0]->str());
}

constexpr BuiltinDef kFilters[] = {
    {"attr", FilterAttr},
    {"d", FilterDefault},
    {"default", FilterDefault},
    {"map", FilterMap},
    {"reject", FilterSelect<false, false>},
    {"rejectattr", FilterSelect<true, false>},
    {"select", FilterSelect<false, true>},
    {"selectattr", FilterSelect<true, true>},
};

}  // namespace

StatusOr<AttributeGetter> AttributeGetter::Make(Runtime& rt, const Value* attribute) {
  AttributeGetter getter;
  if (attribute == nullptr || attribute->is(Kind::kNone)) return getter;
  if (attribute->is(Kind::kInt)) {
    getter.paths_.push_back({*attribute});
    return getter;
  }
  if (!attribute->is(Kind::kString))
    return TemplateError("an attribute must be a name or a number");
  for (std::string_view part : SplitAt(attribute->str(), ',')) {
    MF_ASSIGN_OR_RETURN(std::vector<Value> path, ParsePath(rt, part));
    getter.paths_.push_back(std::move(path));
  }
  return getter;
}

StatusOr<Value> AttributeGetter::Follow(Runtime& rt, const Value& item,
                                        const std::vector<Value>& path,
                                        const Value* fallback) const {
  Value value = item;
  for (const Value& key : path) {
    MF_ASSIGN_OR_RETURN(value, GetItem(rt, value, key));
    if (value.is(Kind::kUndefined) && fallback != nullptr) value = *fallback;
  }
  return value;
}

StatusOr<Value> AttributeGetter::Get(Runtime& rt, const Value& item, const Value* fallback) const {
  if (paths_.empty()) return item;
  if (paths_.size() == 1) return Follow(rt, item, paths_[0], fallback);
  std::vector<Value> values;
  for (const auto& path : paths_) {
    MF_ASSIGN_OR_RETURN(Value value, Follow(rt, item, path, fallback));
    values.push_back(std::move(value));
  }
  return rt.make.Sequence(std::move(values));
}

absl::Span<const BuiltinDef> SelectionFilters() { return kFilters; }

}  // namespace minfer::chat
