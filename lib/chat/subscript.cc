// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/print.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

std::string ObjectName(const Value& value) {
  if (value.is(Kind::kNone)) return "None";
  return StrCat(TypeName(value), " object");
}

StatusOr<Value> NoAttribute(Runtime& rt, const Value& object, std::string_view name) {
  return rt.make.Undefined(StrCat("'", ObjectName(object), "' has no attribute '", name, "'"),
                           std::string(name));
}

// What the type itself offers under the name; false when it offers nothing.
StatusOr<bool> TypeAttribute(Runtime& rt, const Value& object, std::string_view name,
                             Value* result) {
  if (object.is(Kind::kNamespace)) {
    MF_RETURN_IF_ERROR(rt.Step(object.name_space().attributes.size() / 16));
    const Value* value = object.name_space().Find(name);
    if (value != nullptr) *result = *value;
    return value != nullptr;
  }
  if (object.is(Kind::kLoop)) {
    MF_ASSIGN_OR_RETURN(*result, LoopAttribute(rt, object, name));
    if (!result->is(Kind::kUndefined)) return true;
  }
  if (object.is(Kind::kMacro) && name == "name") {
    MF_ASSIGN_OR_RETURN(*result, rt.make.String(object.macro().statement->data));
    return true;
  }
  if (object.is_list() && object.sequence().kind == SequenceKind::kGroup &&
      (name == "grouper" || name == "list")) {
    *result = object.items()[name == "grouper" ? 0 : 1];
    return true;
  }
  if (const BuiltinDef* method = FindMethod(object, name); method != nullptr) {
    MF_ASSIGN_OR_RETURN(*result, rt.make.Method(object, method));
    return true;
  }
  if (IsForbiddenMethod(object, name) || name.starts_with("__")) {
    MF_ASSIGN_OR_RETURN(*result, rt.make.Undefined(StrCat("access to attribute '", name, "' of '",
                                                          TypeName(object), "' object is unsafe."),
                                                   std::string(name)));
    return true;
  }
  return false;
}

bool IsIndexable(const Value& object) {
  if (object.is(Kind::kString)) return true;
  if (!object.is_list()) return false;
  const SequenceKind kind = object.sequence().kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple ||
         kind == SequenceKind::kRange || kind == SequenceKind::kGroup;
}

StatusOr<Value> CharacterAt(Runtime& rt, const Value& string, size_t index) {
  const std::string_view text = string.str();
  const size_t begin = ByteOffset(text, index);
  const size_t end = begin + DecodeUtf8(text, begin).length;
  return rt.make.String(string.text().Slice(begin, end));
}

// x[3]; false when there is no such element.
StatusOr<bool> ElementAt(Runtime& rt, const Value& object, int64_t index, Value* result) {
  MF_ASSIGN_OR_RETURN(const size_t length, Length(object));
  if (index < 0) index += static_cast<int64_t>(length);
  if (index < 0 || static_cast<size_t>(index) >= length) return false;
  if (object.is(Kind::kString)) {
    MF_RETURN_IF_ERROR(rt.StepBytes(object.str().size()));
    MF_ASSIGN_OR_RETURN(*result, CharacterAt(rt, object, static_cast<size_t>(index)));
  } else {
    *result = object.items()[static_cast<size_t>(index)];
  }
  return true;
}

// A slice's bound as Python clamps it.
StatusOr<int64_t> SliceBound(const Value& bound, int64_t fallback, int64_t length, bool backwards) {
  if (bound.is(Kind::kNone)) return fallback;
  if (!bound.is(Kind::kInt) && !bound.is(Kind::kBool)) {
    return TemplateError("slice indices must be integers or None");
  }
  MF_ASSIGN_OR_RETURN(int64_t value, IntArgument(&bound, 0));
  if (value < 0) value = std::max(value, -length - 1) + length;
  return std::clamp<int64_t>(value, backwards ? -1 : 0, backwards ? length - 1 : length);
}

StatusOr<Value> SliceString(Runtime& rt, const Value& object, int64_t begin, int64_t count,
                            int64_t step) {
  const std::string_view text = object.str();
  MF_RETURN_IF_ERROR(rt.StepBytes(text.size()));
  if (step == 1) {
    const size_t from = ByteOffset(text, static_cast<size_t>(begin));
    const size_t to = from + ByteOffset(text.substr(from), static_cast<size_t>(count));
    return rt.make.String(object.text().Slice(from, to), object.string().markup);
  }
  std::vector<size_t> offsets;
  for (size_t i = 0; i < text.size(); i += DecodeUtf8(text, i).length) offsets.push_back(i);
  offsets.push_back(text.size());
  Text out;
  for (; count > 0; --count, begin += step) {
    const size_t at = static_cast<size_t>(begin);
    out.AppendSlice(object.text(), offsets[at], offsets[at + 1]);
  }
  return rt.make.String(std::move(out), object.string().markup);
}

}  // namespace

StatusOr<Value> GetAttribute(Runtime& rt, const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined)) return UndefinedError(object);
  Value result;
  MF_ASSIGN_OR_RETURN(const bool found, TypeAttribute(rt, object, name, &result));
  if (found) return result;
  if (object.is(Kind::kDict)) {
    if (const Value* value = object.dict().Find(name); value != nullptr) return *value;
  }
  return NoAttribute(rt, object, name);
}

StatusOr<Value> GetItem(Runtime& rt, const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) return UndefinedError(object);
  if (object.is(Kind::kDict)) {
    MF_RETURN_IF_ERROR(rt.Step(key.weight()));
    if (const Value* value = object.dict().Find(key); value != nullptr) return *value;
  } else if (IsIndexable(object) && (key.is(Kind::kInt) || key.is(Kind::kBool))) {
    MF_ASSIGN_OR_RETURN(const int64_t index, IntArgument(&key, 0));
    Value result;
    MF_ASSIGN_OR_RETURN(const bool found, ElementAt(rt, object, index, &result));
    if (found) return result;
  }
  if (key.is(Kind::kString)) {
    Value result;
    MF_ASSIGN_OR_RETURN(const bool found, TypeAttribute(rt, object, key.str(), &result));
    if (found) return result;
    return NoAttribute(rt, object, key.str());
  }
  TextBuilder repr(256);
  AppendRepr(key, &repr);
  return rt.make.Undefined(StrCat(ObjectName(object), " has no element ", repr.text().bytes()),
                           repr.text().bytes());
}

StatusOr<Value> GetSlice(Runtime& rt, const Value& object, const Value& begin, const Value& end,
                         const Value& step) {
  if (object.is(Kind::kUndefined)) return UndefinedError(object);
  if (!IsIndexable(object)) {
    return rt.make.Undefined(StrCat(ObjectName(object), " has no element slice"), "slice");
  }
  int64_t stride = 1;
  if (!step.is(Kind::kNone)) {
    MF_ASSIGN_OR_RETURN(stride, IntArgument(&step, 1));
  }
  if (stride == 0) return TemplateError("slice step cannot be zero");
  MF_ASSIGN_OR_RETURN(const size_t size, Length(object));
  const int64_t length = static_cast<int64_t>(size);
  stride = std::clamp(stride, -length - 1, length + 1);
  const bool backwards = stride < 0;
  MF_ASSIGN_OR_RETURN(int64_t from,
                      SliceBound(begin, backwards ? length - 1 : 0, length, backwards));
  MF_ASSIGN_OR_RETURN(const int64_t to,
                      SliceBound(end, backwards ? -1 : length, length, backwards));
  int64_t count = 0;
  if (backwards ? to < from : from < to) {
    count = backwards ? (from - to - 1) / -stride + 1 : (to - from - 1) / stride + 1;
  }
  if (object.is(Kind::kString)) return SliceString(rt, object, from, count, stride);
  MF_RETURN_IF_ERROR(rt.Step(static_cast<uint64_t>(count)));
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(count));
  for (; count > 0; --count, from += stride) items.push_back(object.items()[from]);
  return rt.make.Sequence(std::move(items), object.sequence().kind);
}

StatusOr<std::vector<Value>> Iterate(Runtime& rt, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      return items;
    case Kind::kSequence: {
      const SequenceObject& sequence = value.sequence();
      MF_RETURN_IF_ERROR(rt.Step(sequence.items.size() / 8));
      if (sequence.kind == SequenceKind::kGenerator) {
        if (sequence.consumed) return items;
        sequence.consumed = true;
      }
      return sequence.items;
    }
    case Kind::kDict:
      MF_RETURN_IF_ERROR(rt.Step(value.dict().entries.size() / 8));
      for (const auto& entry : value.dict().entries) items.push_back(entry.first);
      return items;
    case Kind::kString: {
      const std::string_view text = value.str();
      MF_RETURN_IF_ERROR(rt.Step(text.size()));
      for (size_t i = 0; i < text.size();) {
        const size_t end = i + DecodeUtf8(text, i).length;
        MF_ASSIGN_OR_RETURN(Value character, rt.make.String(value.text().Slice(i, end)));
        items.push_back(std::move(character));
        i = end;
      }
      return items;
    }
    case Kind::kLoop:
      return value.loop().items;
    default:
      return TemplateError(StrCat("'", TypeName(value), "' object is not iterable"));
  }
}

Status StepInput(Runtime& rt, const Value& self) {
  return rt.Step(self.is(Kind::kString) ? self.weight() : 1);
}

StatusOr<size_t> Length(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return size_t{0};
    case Kind::kString:
      return CountCodePoints(value.str());
    case Kind::kDict:
      return value.dict().entries.size();
    case Kind::kLoop:
      return value.loop().items.size();
    case Kind::kSequence:
      if (value.sequence().kind != SequenceKind::kGenerator) return value.items().size();
      break;
    default:
      break;
  }
  return TemplateError(StrCat("object of type '", TypeName(value), "' has no len()"));
}

}  // namespace minfer::chat
