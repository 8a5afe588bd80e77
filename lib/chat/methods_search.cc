// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The methods of strings that ask something, and those of lists and mappings.

#include <algorithm>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

// The part of a string between the optional character positions of find, count and their like.
struct Window {
  size_t begin = 0;
  size_t end = 0;
  bool empty = false;  // the positions leave nothing, not even the empty text
};

StatusOr<Window> WindowOf(Runtime& rt, const std::string& text, const Value* from,
                          const Value* to) {
  MF_RETURN_IF_ERROR(rt.StepBytes(text.size()));
  if (from == nullptr && to == nullptr) return Window{0, text.size(), false};
  const int64_t length = static_cast<int64_t>(CountCodePoints(text));
  MF_ASSIGN_OR_RETURN(int64_t begin, IntArgument(from, 0));
  MF_ASSIGN_OR_RETURN(int64_t end, IntArgument(to, length));
  if (begin < 0) begin = std::max<int64_t>(begin + length, 0);
  if (end < 0) end = std::max<int64_t>(end + length, 0);
  end = std::min(end, length);
  if (begin > end) return Window{0, 0, true};
  return Window{ByteOffset(text, static_cast<size_t>(begin)),
                ByteOffset(text, static_cast<size_t>(end)), false};
}

Status NeedString(const Value& value) {
  if (value.is(Kind::kString)) return OkStatus();
  if (value.is(Kind::kUndefined)) return UndefinedError(value);
  return TemplateError(StrCat("must be str, not ", TypeName(value)));
}

template <bool kFromRight, bool kMustExist>
StatusOr<Value> MethodFind(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("find", {"sub", "start", "end"}, 1, a));
  MF_RETURN_IF_ERROR(NeedString(*a[0]));
  const std::string& text = self.str();
  MF_RETURN_IF_ERROR(rt.StepFind(text.size(), a[0]->str().size()));
  MF_ASSIGN_OR_RETURN(const Window window, WindowOf(rt, text, a[1], a[2]));
  const std::string_view part =
      std::string_view(text).substr(window.begin, window.end - window.begin);
  const size_t found = window.empty ? std::string_view::npos
                       : kFromRight ? part.rfind(a[0]->str())
                                    : part.find(a[0]->str());
  if (found != std::string_view::npos) {
    return Value::Int(static_cast<int64_t>(
        CountCodePoints(std::string_view(text).substr(0, window.begin + found))));
  }
  if (kMustExist) return TemplateError("substring not found");
  return Value::Int(-1);
}

StatusOr<Value> MethodCount(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("count", {"sub", "start", "end"}, 1, a));
  MF_RETURN_IF_ERROR(NeedString(*a[0]));
  const std::string& wanted = a[0]->str();
  MF_RETURN_IF_ERROR(rt.StepFind(self.str().size(), wanted.size()));
  MF_ASSIGN_OR_RETURN(const Window window, WindowOf(rt, self.str(), a[1], a[2]));
  const std::string_view part =
      std::string_view(self.str()).substr(window.begin, window.end - window.begin);
  if (window.empty) return Value::Int(0);
  if (wanted.empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(part)) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = part.find(wanted, at)) != std::string_view::npos; at += wanted.size()) {
    ++count;
  }
  return Value::Int(count);
}

template <bool kAtStart>
StatusOr<Value> MethodAffix(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  const std::string_view name = kAtStart ? "startswith" : "endswith";
  MF_RETURN_IF_ERROR(args.Bind(name, {"affix", "start", "end"}, 1, a));
  MF_ASSIGN_OR_RETURN(const Window window, WindowOf(rt, self.str(), a[1], a[2]));
  const std::string_view part =
      std::string_view(self.str()).substr(window.begin, window.end - window.begin);
  const auto matches = [&](const Value& affix) {
    return !window.empty &&
           (kAtStart ? part.starts_with(affix.str()) : part.ends_with(affix.str()));
  };
  if (a[0]->is_list() && a[0]->sequence().kind == SequenceKind::kTuple) {
    for (const Value& affix : a[0]->items()) {
      MF_RETURN_IF_ERROR(NeedString(affix));
      if (matches(affix)) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  if (!a[0]->is(Kind::kString) && !a[0]->is(Kind::kUndefined)) {
    return TemplateError(
        StrCat(name, " first arg must be str or a tuple of str, not ", TypeName(*a[0])));
  }
  MF_RETURN_IF_ERROR(NeedString(*a[0]));
  return Value::Bool(matches(*a[0]));
}

// Whether the text is not empty and every character passes.
template <bool (*test)(uint32_t)>
StatusOr<Value> MethodAll(Runtime& rt, const Value& self, const CallArguments&) {
  const std::string& text = self.str();
  MF_RETURN_IF_ERROR(rt.StepBytes(text.size()));
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (!test(c.value)) return Value::Bool(false);
    i += c.length;
  }
  return Value::Bool(!text.empty());
}

bool IsAlphanumeric(uint32_t c) { return IsAlphabetic(c) || IsNumeric(c); }
bool IsWordCharacter(uint32_t c) { return c == '_' || IsAlphanumeric(c); }

template <bool (*wanted)(uint32_t), bool (*other)(uint32_t)>
StatusOr<Value> MethodInCase(Runtime& rt, const Value& self, const CallArguments&) {
  const std::string& text = self.str();
  MF_RETURN_IF_ERROR(rt.StepBytes(text.size()));
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (other(c.value)) return Value::Bool(false);
    found |= wanted(c.value);
    i += c.length;
  }
  return Value::Bool(found);
}

StatusOr<Value> MethodIsTitle(Runtime&, const Value& self, const CallArguments&) {
  const std::string& text = self.str();
  bool in_word = false;
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (IsUpper(c.value) == in_word && (IsUpper(c.value) || IsLower(c.value))) {
      return Value::Bool(false);
    }
    in_word = IsUpper(c.value) || IsLower(c.value);
    found |= in_word;
    i += c.length;
  }
  return Value::Bool(found);
}

StatusOr<Value> MethodIsAscii(Runtime&, const Value& self, const CallArguments&) {
  return Value::Bool(IsAscii(self.str()));
}

StatusOr<Value> MethodIsPrintable(Runtime& rt, const Value& self, const CallArguments& args) {
  return self.str().empty() ? Value::Bool(true) : MethodAll<IsPrintable>(rt, self, args);
}

StatusOr<Value> MethodIsIdentifier(Runtime& rt, const Value& self, const CallArguments& args) {
  if (self.str().empty() || IsNumeric(DecodeUtf8(self.str(), 0).value)) return Value::Bool(false);
  return MethodAll<IsWordCharacter>(rt, self, args);
}

StatusOr<Value> ListCount(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("count", {"value"}, 1, a));
  const auto& items = self.items();
  MF_RETURN_IF_ERROR(rt.StepSearch(self, *a[0]));
  return Value::Int(std::count_if(items.begin(), items.end(),
                                  [&](const Value& item) { return Equals(item, *a[0]); }));
}

StatusOr<Value> ListIndex(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("index", {"value", "start", "stop"}, 1, a));
  const int64_t length = static_cast<int64_t>(self.items().size());
  MF_RETURN_IF_ERROR(rt.StepSearch(self, *a[0]));
  MF_ASSIGN_OR_RETURN(int64_t begin, IntArgument(a[1], 0));
  MF_ASSIGN_OR_RETURN(int64_t end, IntArgument(a[2], length));
  if (begin < 0) begin = std::max<int64_t>(begin + length, 0);
  if (end < 0) end += length;
  for (int64_t i = begin; i < std::min(end, length); ++i) {
    if (Equals(self.items()[static_cast<size_t>(i)], *a[0])) return Value::Int(i);
  }
  return TemplateError("the value is not in the list");
}

StatusOr<Value> CopySelf(Runtime&, const Value& self, const CallArguments&) { return self; }

StatusOr<Value> DictGet(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("get", {"key", "default"}, 1, a));
  MF_RETURN_IF_ERROR(rt.Step(a[0]->weight()));
  if (const Value* value = self.dict().Find(*a[0]); value != nullptr) return *value;
  return a[1] != nullptr ? *a[1] : Value::None();
}

enum class View { kKeys, kValues, kItems };

template <View kView, SequenceKind kKind>
StatusOr<Value> DictView(Runtime& rt, const Value& self, const CallArguments& args) {
  MF_RETURN_IF_ERROR(args.Bind("keys, values and items", {}, 0, nullptr));
  std::vector<Value> items;
  items.reserve(self.dict().entries.size());
  MF_RETURN_IF_ERROR(rt.Step(self.dict().entries.size() / 8));
  for (const auto& [key, value] : self.dict().entries) {
    if (kView == View::kItems) {
      MF_ASSIGN_OR_RETURN(Value pair, rt.make.Sequence({key, value}, SequenceKind::kTuple));
      items.push_back(std::move(pair));
    } else {
      items.push_back(kView == View::kKeys ? key : value);
    }
  }
  return rt.make.Sequence(std::move(items), kKind);
}

constexpr BuiltinDef kStringTests[] = {
    {"count", MethodCount},
    {"endswith", MethodAffix<false>},
    {"find", MethodFind<false, false>},
    {"index", MethodFind<false, true>},
    {"isalnum", MethodAll<IsAlphanumeric>},
    {"isalpha", MethodAll<IsAlphabetic>},
    {"isascii", MethodIsAscii},
    {"isdecimal", MethodAll<IsDecimal>},
    {"isdigit", MethodAll<IsDigit>},
    {"isidentifier", MethodIsIdentifier},
    {"islower", MethodInCase<IsLower, IsUpper>},
    {"isnumeric", MethodAll<IsNumeric>},
    {"isprintable", MethodIsPrintable},
    {"isspace", MethodAll<IsSpace>},
    {"istitle", MethodIsTitle},
    {"isupper", MethodInCase<IsUpper, IsLower>},
    {"rfind", MethodFind<true, false>},
    {"rindex", MethodFind<true, true>},
    {"startswith", MethodAffix<true>},
};

constexpr BuiltinDef kSequenceMethods[] = {
    {"copy", CopySelf}, {"count", ListCount}, {"index", ListIndex}};

constexpr BuiltinDef kDictMethods[] = {
    {"copy", CopySelf},
    {"get", DictGet},
    {"items", DictView<View::kItems, SequenceKind::kDictItems>},
    {"keys", DictView<View::kKeys, SequenceKind::kDictKeys>},
    {"values", DictView<View::kValues, SequenceKind::kDictValues>},
};

}  // namespace

absl::Span<const BuiltinDef> StringTestMethods() { return kStringTests; }
absl::Span<const BuiltinDef> SequenceMethods() { return kSequenceMethods; }
absl::Span<const BuiltinDef> DictMethods() { return kDictMethods; }

}  // namespace minfer::chat
