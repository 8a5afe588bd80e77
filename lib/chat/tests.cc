// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What may follow "is".

#include <algorithm>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

template <bool (*test)(const Value&)>
StatusOr<Value> Simple(Runtime&, const Value& self, const CallArguments&) {
  return Value::Bool(test(self));
}

bool IsUndefined(const Value& v) { return v.is(Kind::kUndefined); }
bool IsDefined(const Value& v) { return !v.is(Kind::kUndefined); }
bool IsNone(const Value& v) { return v.is(Kind::kNone); }
bool IsBoolean(const Value& v) { return v.is(Kind::kBool); }
bool IsTrueValue(const Value& v) { return v.is(Kind::kBool) && v.boolean(); }
bool IsFalseValue(const Value& v) { return v.is(Kind::kBool) && !v.boolean(); }
bool IsInteger(const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kBigInt); }
bool IsFloat(const Value& v) { return v.is(Kind::kFloat); }
bool IsNumber(const Value& v) { return v.is_number(); }
bool IsString(const Value& v) { return v.is(Kind::kString); }
bool IsMapping(const Value& v) { return v.is(Kind::kDict); }
bool IsEscaped(const Value& v) { return v.is(Kind::kString) && v.string().markup; }
bool IsCallable(const Value& v) {
  return v.is(Kind::kMacro) || v.is(Kind::kFunction) || v.is(Kind::kMethod);
}
// What has a length and can be indexed.
bool IsSequence(const Value& v) {
  if (v.is(Kind::kUndefined)) return true;
  if (v.is(Kind::kString) || v.is(Kind::kDict)) return true;
  if (!v.is_list()) return false;
  const SequenceKind kind = v.sequence().kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple ||
         kind == SequenceKind::kRange || kind == SequenceKind::kGroup;
}
bool IsIterable(const Value& v) {
  return v.is(Kind::kUndefined) || v.is(Kind::kString) || v.is(Kind::kDict) || v.is_list() ||
         v.is(Kind::kLoop);
}

// Text with at least one letter of the case and none of the other.
template <bool (*wanted)(uint32_t), bool (*other)(uint32_t)>
StatusOr<Value> InCase(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text.bytes(), i);
    if (other(c.value)) return Value::Bool(false);
    found |= wanted(c.value);
    i += c.length;
  }
  return Value::Bool(found);
}

template <Operator op>
StatusOr<Value> Compared(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("comparison", {"other"}, 1, a));
  MF_ASSIGN_OR_RETURN(const bool result, CompareWith(rt, op, self, *a[0]));
  return Value::Bool(result);
}

StatusOr<Value> TestSameAs(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("sameas", {"other"}, 1, a));
  if (self.kind() != a[0]->kind()) return Value::Bool(false);
  if (self.identity() != nullptr && !self.is(Kind::kString)) {
    return Value::Bool(self.identity() == a[0]->identity());
  }
  MF_RETURN_IF_ERROR(rt.StepCompare(self, *a[0]));
  return Value::Bool(Equals(self, *a[0]));
}

StatusOr<Value> Remainder(Runtime& rt, const Value& self, const Value& divisor) {
  return Arithmetic(rt, Operator::kModulo, self, divisor);
}

StatusOr<Value> TestDivisibleBy(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("divisibleby", {"num"}, 1, a));
  MF_ASSIGN_OR_RETURN(const Value remainder, Remainder(rt, self, *a[0]));
  return Value::Bool(Equals(remainder, Value::Int(0)));
}

template <int64_t kRemainder>
StatusOr<Value> TestParity(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Value remainder, Remainder(rt, self, Value::Int(2)));
  return Value::Bool(Equals(remainder, Value::Int(kRemainder)));
}

template <const BuiltinDef* (*find)(std::string_view)>
StatusOr<Value> TestKnown(Runtime&, const Value& self, const CallArguments&) {
  return Value::Bool(self.is(Kind::kString) && find(self.str()) != nullptr);
}

constexpr BuiltinDef kTests[] = {
    {"!=", Compared<Operator::kNotEqual>},
    {"<", Compared<Operator::kLess>},
    {"<=", Compared<Operator::kLessEqual>},
    {"==", Compared<Operator::kEqual>},
    {">", Compared<Operator::kGreater>},
    {">=", Compared<Operator::kGreaterEqual>},
    {"boolean", Simple<IsBoolean>},
    {"callable", Simple<IsCallable>},
    {"defined", Simple<IsDefined>},
    {"divisibleby", TestDivisibleBy},
    {"eq", Compared<Operator::kEqual>},
    {"equalto", Compared<Operator::kEqual>},
    {"escaped", Simple<IsEscaped>},
    {"even", TestParity<0>},
    {"false", Simple<IsFalseValue>},
    {"filter", TestKnown<FindFilter>},
    {"float", Simple<IsFloat>},
    {"ge", Compared<Operator::kGreaterEqual>},
    {"greaterthan", Compared<Operator::kGreater>},
    {"gt", Compared<Operator::kGreater>},
    {"in", Compared<Operator::kIn>},
    {"integer", Simple<IsInteger>},
    {"iterable", Simple<IsIterable>},
    {"le", Compared<Operator::kLessEqual>},
    {"lessthan", Compared<Operator::kLess>},
    {"lower", InCase<IsLower, IsUpper>},
    {"lt", Compared<Operator::kLess>},
    {"mapping", Simple<IsMapping>},
    {"ne", Compared<Operator::kNotEqual>},
    {"none", Simple<IsNone>},
    {"number", Simple<IsNumber>},
    {"odd", TestParity<1>},
    {"sameas", TestSameAs},
    {"sequence", Simple<IsSequence>},
    {"string", Simple<IsString>},
    {"test", TestKnown<FindTest>},
    {"true", Simple<IsTrueValue>},
    {"undefined", Simple<IsUndefined>},
    {"upper", InCase<IsUpper, IsLower>},
};

}  // namespace

const BuiltinDef* FindTest(std::string_view name) { return FindIn(kTests, name); }

}  // namespace minfer::chat
