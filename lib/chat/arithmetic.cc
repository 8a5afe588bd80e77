// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "chat/format.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace minfer::chat {
namespace {

std::string_view OperatorText(Operator op) {
  constexpr std::string_view kTexts[] = {"+",  "-", "*",  "/", "//", "%",  "** or pow()", "==",
                                         "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kTexts[static_cast<size_t>(op)];
}

Status BadOperands(Operator op, const Value& a, const Value& b) {
  if (op == Operator::kAdd && a.is(Kind::kString)) {
    return TemplateError(StrCat("can only concatenate str (not \"", TypeName(b), "\") to str"));
  }
  if (op == Operator::kAdd && a.is_list() && a.sequence().kind == SequenceKind::kList) {
    return TemplateError(StrCat("can only concatenate list (not \"", TypeName(b), "\") to list"));
  }
  return TemplateError(StrCat("unsupported operand type(s) for ", OperatorText(op), ": '",
                              TypeName(a), "' and '", TypeName(b), "'"));
}

Status TooLarge(Operator op) {
  return Status(StatusCode::kOutOfRange, Subsystem::kChat,
                StrCat("the result of ", OperatorText(op),
                       " lies outside the 64-bit integers that are computed with"));
}

int64_t AsInt(const Value& value) {
  return value.is(Kind::kBool) ? (value.boolean() ? 1 : 0) : value.integer();
}
double AsDouble(const Value& value) {
  return value.is(Kind::kFloat) ? value.real() : static_cast<double>(AsInt(value));
}

StatusOr<Value> IntPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return TemplateError("0.0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  if (base == 0 || base == 1 || base == -1) {
    return Value::Int(exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base);
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return TooLarge(Operator::kPower);
  }
  return Value::Int(result);
}

StatusOr<Value> IntArithmetic(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::kPower:
      return IntPower(a, b);
    default:
      if (b == 0) {
        return TemplateError(op == Operator::kDivide ? "division by zero"
                                                     : "integer division or modulo by zero");
      }
      if (op == Operator::kDivide) {
        return Value::Float(static_cast<double>(a) / static_cast<double>(b));
      }
      if (b == -1) {  // the one quotient that may not fit
        if (op == Operator::kModulo) return Value::Int(0);
        overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
        break;
      }
      // Python rounds the quotient down; the remainder has the divisor's sign.
      const bool adjust = a % b != 0 && (a % b < 0) != (b < 0);
      result = op == Operator::kFloorDivide ? a / b - (adjust ? 1 : 0) : a % b + (adjust ? b : 0);
  }
  if (overflow) return TooLarge(op);
  return Value::Int(result);
}

StatusOr<Value> FloatArithmetic(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value::Float(a + b);
    case Operator::kSubtract:
      return Value::Float(a - b);
    case Operator::kMultiply:
      return Value::Float(a * b);
    case Operator::kPower: {
      if (a == 0 && b < 0) return TemplateError("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
        return TemplateError("a negative number has no real power of that exponent");
      }
      return Value::Float(result);
    }
    default:
      break;
  }
  if (b == 0) return TemplateError("float division by zero");
  if (op == Operator::kDivide) return Value::Float(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == Operator::kModulo) {
    return Value::Float(remainder == 0 ? std::copysign(0.0, b) : remainder);
  }
  return Value::Float(std::floor((a - remainder) / b + 0.5));
}

StatusOr<Value> AddStrings(Runtime& rt, const Value& a, const Value& b) {
  TextBuilder out = rt.NewText();
  // What is added to marked text is escaped, as if it came from outside.
  const bool markup = a.string().markup || b.string().markup;
  for (const Value* part : {&a, &b}) {
    if (markup && !part->string().markup) {
      AppendEscaped(part->text(), &out);
    } else {
      out.Append(part->text());
    }
  }
  return rt.Finish(std::move(out), markup);
}

// By blocks of many repetitions: one at a time costs more than its bytes.
Text RepeatText(const Text& unit, size_t count) {
  constexpr size_t kBlockBytes = 4096;
  const size_t in_block =
      std::clamp<size_t>(kBlockBytes / unit.size(), 1, std::max<size_t>(count, 1));
  Text block;
  for (size_t i = 0; i < in_block; ++i) block.Append(unit);
  Text text;
  for (size_t i = 0; i < count / in_block; ++i) text.Append(block);
  text.AppendSlice(block, 0, count % in_block * unit.size());
  return text;
}

StatusOr<Value> Repeat(Runtime& rt, const Value& what, int64_t times) {
  const size_t count = times > 0 ? static_cast<size_t>(times) : 0;
  const size_t size = what.is(Kind::kString) ? what.text().size() : what.items().size();
  const size_t unit = what.is(Kind::kString) ? 1 : sizeof(Value);
  size_t bytes = 0;
  if (__builtin_mul_overflow(size * unit, count, &bytes)) bytes = SIZE_MAX;
  MF_RETURN_IF_ERROR(rt.CheckRoom(bytes));
  MF_RETURN_IF_ERROR(rt.StepBytes(bytes));
  if (size == 0) return what;
  if (what.is(Kind::kString)) {
    return rt.make.String(RepeatText(what.text(), count), what.string().markup);
  }
  std::vector<Value> items;
  items.reserve(size * count);
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), what.items().begin(), what.items().end());
  }
  return rt.make.Sequence(std::move(items), what.sequence().kind);
}

bool IsRepeatable(const Value& value) {
  if (value.is(Kind::kString)) return true;
  return value.is_list() && (value.sequence().kind == SequenceKind::kList ||
                             value.sequence().kind == SequenceKind::kTuple);
}

bool IsInteger(const Value& value) { return value.is(Kind::kInt) || value.is(Kind::kBool); }

StatusOr<Value> Join(Runtime& rt, const Value& a, const Value& b) {
  std::vector<Value> items;
  const size_t count = a.items().size() + b.items().size();
  MF_RETURN_IF_ERROR(rt.CheckRoom(count * sizeof(Value)));
  MF_RETURN_IF_ERROR(rt.StepBytes(count * sizeof(Value)));
  items.reserve(count);
  items.insert(items.end(), a.items().begin(), a.items().end());
  items.insert(items.end(), b.items().begin(), b.items().end());
  return rt.make.Sequence(std::move(items), a.sequence().kind);
}

}  // namespace

StatusOr<Value> Arithmetic(Runtime& rt, Operator op, const Value& a, const Value& b) {
  if (a.is(Kind::kUndefined)) return UndefinedError(a);
  if (op == Operator::kModulo && a.is(Kind::kString)) return FormatPercent(rt, a, b);
  if (b.is(Kind::kUndefined)) return UndefinedError(b);
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::kBigInt) || b.is(Kind::kBigInt)) return TooLarge(op);
    if (IsInteger(a) && IsInteger(b)) return IntArithmetic(op, AsInt(a), AsInt(b));
    return FloatArithmetic(op, AsDouble(a), AsDouble(b));
  }
  if (op == Operator::kAdd && a.is(Kind::kString) && b.is(Kind::kString)) {
    return AddStrings(rt, a, b);
  }
  if (op == Operator::kAdd && a.is_list() && b.is_list() && IsRepeatable(a) &&
      a.sequence().kind == b.sequence().kind) {
    return Join(rt, a, b);
  }
  if (op == Operator::kMultiply && IsRepeatable(a) && IsInteger(b)) return Repeat(rt, a, AsInt(b));
  if (op == Operator::kMultiply && IsInteger(a) && IsRepeatable(b)) return Repeat(rt, b, AsInt(a));
  return BadOperands(op, a, b);
}

StatusOr<Value> Signed(Runtime& rt, bool negative, const Value& value) {
  if (value.is(Kind::kUndefined)) return UndefinedError(value);
  if (value.is(Kind::kFloat)) return Value::Float(negative ? -value.real() : value.real());
  if (value.is(Kind::kBigInt)) {
    if (!negative) return value;
    const std::string& digits = value.str();
    return rt.make.BigInt(digits.starts_with('-') ? digits.substr(1) : StrCat("-", digits));
  }
  if (!IsInteger(value)) {
    return TemplateError(
        StrCat("bad operand type for unary ", negative ? "-" : "+", ": '", TypeName(value), "'"));
  }
  if (!negative) return Value::Int(AsInt(value));
  return IntArithmetic(Operator::kSubtract, 0, AsInt(value));
}

StatusOr<bool> CompareWith(Runtime& rt, Operator op, const Value& a, const Value& b) {
  if (op != Operator::kIn && op != Operator::kNotIn) MF_RETURN_IF_ERROR(rt.StepCompare(a, b));
  switch (op) {
    case Operator::kEqual:
      return Equals(a, b);
    case Operator::kNotEqual:
      return !Equals(a, b);
    case Operator::kIn:
      return Contains(rt, b, a);
    case Operator::kNotIn: {
      MF_ASSIGN_OR_RETURN(const bool found, Contains(rt, b, a));
      return !found;
    }
    default:
      break;
  }
  MF_ASSIGN_OR_RETURN(const int order, Compare(a, b, OperatorText(op)));
  if (order == 2) return false;
  switch (op) {
    case Operator::kLess:
      return order < 0;
    case Operator::kLessEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

StatusOr<bool> Contains(Runtime& rt, const Value& container, const Value& item) {
  if (container.is(Kind::kString)) {
    if (!item.is(Kind::kString)) {
      if (item.is(Kind::kUndefined)) return UndefinedError(item);
      return TemplateError(
          StrCat("'in <string>' requires string as left operand, not ", TypeName(item)));
    }
    MF_RETURN_IF_ERROR(rt.StepFind(container.str().size(), item.str().size()));
    return container.str().find(item.str()) != std::string::npos;
  }
  if (container.is(Kind::kDict)) {
    MF_RETURN_IF_ERROR(rt.Step(item.weight()));
    return container.dict().Find(item) != nullptr;
  }
  if (container.is_list()) {
    MF_RETURN_IF_ERROR(rt.StepSearch(container, item));
    const auto& items = container.items();
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& other) { return Equals(other, item); });
  }
  if (container.is(Kind::kUndefined)) return false;
  return TemplateError(StrCat("argument of type '", TypeName(container), "' is not iterable"));
}

}  // namespace minfer::chat
