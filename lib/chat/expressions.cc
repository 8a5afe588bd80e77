// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/interpreter.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace minfer::chat {

std::string_view Interpreter::ConstructOf(const Expr& expr) const {
  switch (expr.kind) {
    case ExprKind::kName:
      return program_.names[expr.name];
    case ExprKind::kTuple:
    case ExprKind::kList:
      return "list";
    case ExprKind::kDict:
      return "dict";
    case ExprKind::kSigned:
      return "sign";
    case ExprKind::kArithmetic:
      return "arithmetic";
    case ExprKind::kConcatenate:
      return "~";
    case ExprKind::kCompare:
      return "comparison";
    default:
      return "expression";
  }
}

std::string_view Interpreter::ConstructOf(const Expr& expr, size_t index) const {
  const Suffix& suffix = expr.suffixes[index];
  if (!suffix.name.empty()) return suffix.name;
  if (suffix.kind != SuffixKind::kCall) return "subscript";
  if (index > 0 && !expr.suffixes[index - 1].name.empty()) return expr.suffixes[index - 1].name;
  return expr.items.empty() ? "call" : ConstructOf(*expr.items[0]);
}

StatusOr<Value> Interpreter::Eval(const Expr& expr) {
  StatusOr<Value> value = Dispatch(expr);
  if (!value.ok()) return Annotate(std::move(value).status(), expr.line, ConstructOf(expr));
  return value;
}

StatusOr<Value> Interpreter::Dispatch(const Expr& expr) {
  MF_RETURN_IF_ERROR(rt_.Step());
  MF_RETURN_IF_ERROR(CheckDepth());
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return EvalName(expr);
    case ExprKind::kTuple:
    case ExprKind::kList:
      return EvalSequence(expr);
    case ExprKind::kDict:
      return EvalDict(expr);
    case ExprKind::kPostfix:
      return EvalPostfix(expr);
    case ExprKind::kSigned:
      return EvalSigned(expr);
    case ExprKind::kArithmetic:
      return EvalArithmetic(expr);
    case ExprKind::kConcatenate:
      return EvalConcatenate(expr);
    case ExprKind::kCompare:
      return EvalCompare(expr);
    case ExprKind::kNot:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return EvalLogic(expr);
    case ExprKind::kConditional:
      return EvalConditional(expr);
  }
  return TemplateError("an expression of unknown kind");
}

StatusOr<Value> Interpreter::EvalName(const Expr& expr) {
  if (const Value* value = Lookup(expr.name); value != nullptr) return *value;
  const std::string& name = program_.names[expr.name];
  return rt_.make.Undefined(StrCat("'", name, "' is undefined"), name);
}

StatusOr<Value> Interpreter::EvalSequence(const Expr& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const Expr* item : expr.items) {
    MF_ASSIGN_OR_RETURN(Value value, Eval(*item));
    items.push_back(std::move(value));
  }
  return rt_.make.Sequence(
      std::move(items), expr.kind == ExprKind::kTuple ? SequenceKind::kTuple : SequenceKind::kList);
}

StatusOr<Value> Interpreter::EvalDict(const Expr& expr) {
  DictEntries entries;
  entries.reserve(expr.items.size() / 2);
  for (size_t i = 0; i < expr.items.size(); i += 2) {
    MF_ASSIGN_OR_RETURN(Value key, Eval(*expr.items[i]));
    const bool is_tuple = key.is_list() && key.sequence().kind == SequenceKind::kTuple;
    if (key.is(Kind::kDict) || (key.is_list() && !is_tuple)) {
      return TemplateError(StrCat("unhashable type: '", TypeName(key), "'"));
    }
    MF_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[i + 1]));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return rt_.make.Dict(std::move(entries));
}

StatusOr<Value> Interpreter::EvalSigned(const Expr& expr) {
  MF_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[0]));
  for (size_t i = expr.operators.size(); i > 0; --i) {
    MF_RETURN_IF_ERROR(rt_.Step());
    MF_ASSIGN_OR_RETURN(value, Signed(rt_, expr.operators[i - 1] == Operator::kSubtract, value));
  }
  return value;
}

StatusOr<Value> Interpreter::EvalArithmetic(const Expr& expr) {
  MF_ASSIGN_OR_RETURN(Value left, Eval(*expr.items[0]));
  for (size_t i = 1; i < expr.items.size(); ++i) {
    MF_ASSIGN_OR_RETURN(const Value right, Eval(*expr.items[i]));
    MF_ASSIGN_OR_RETURN(left, Arithmetic(rt_, expr.operators[i - 1], left, right));
  }
  return left;
}

StatusOr<Value> Interpreter::EvalConcatenate(const Expr& expr) {
  std::vector<Value> parts;
  parts.reserve(expr.items.size());
  for (const Expr* item : expr.items) {
    MF_ASSIGN_OR_RETURN(Value value, Eval(*item));
    parts.push_back(std::move(value));
  }
  TextBuilder out = rt_.NewText();
  for (const Value& part : parts) AppendStr(part, &out);
  return rt_.Finish(std::move(out));
}

StatusOr<Value> Interpreter::EvalCompare(const Expr& expr) {
  MF_ASSIGN_OR_RETURN(Value left, Eval(*expr.items[0]));
  for (size_t i = 1; i < expr.items.size(); ++i) {
    MF_ASSIGN_OR_RETURN(Value right, Eval(*expr.items[i]));
    MF_ASSIGN_OR_RETURN(const bool holds, CompareWith(rt_, expr.operators[i - 1], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

StatusOr<Value> Interpreter::EvalLogic(const Expr& expr) {
  MF_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[0]));
  if (expr.kind == ExprKind::kNot) return Value::Bool(!IsTrue(value));
  // The value that decides is the result.
  for (size_t i = 1; i < expr.items.size(); ++i) {
    if (IsTrue(value) == (expr.kind == ExprKind::kOr)) return value;
    MF_ASSIGN_OR_RETURN(value, Eval(*expr.items[i]));
  }
  return value;
}

StatusOr<Value> Interpreter::EvalConditional(const Expr& expr) {
  size_t i = 0;
  for (; i + 1 < expr.items.size(); i += 2) {
    MF_ASSIGN_OR_RETURN(const Value condition, Eval(*expr.items[i + 1]));
    if (IsTrue(condition)) return Eval(*expr.items[i]);
  }
  if (i < expr.items.size()) return Eval(*expr.items[i]);
  return rt_.make.Undefined(
      "the inline if-expression evaluated to false and no else section was"
      " defined",
      "if");
}

StatusOr<Value> Interpreter::EvalPostfix(const Expr& expr) {
  MF_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[0]));
  return ApplySuffixes(expr, std::move(value), expr.suffixes.size());
}

StatusOr<Value> Interpreter::ApplySuffixes(const Expr& expr, Value value, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    StatusOr<Value> next = ApplySuffix(expr, i, value);
    if (!next.ok()) {
      return Annotate(std::move(next).status(), expr.suffixes[i].line, ConstructOf(expr, i));
    }
    value = *std::move(next);
  }
  return value;
}

StatusOr<Value> Interpreter::ApplySuffix(const Expr& expr, size_t index, const Value& value) {
  MF_RETURN_IF_ERROR(rt_.Step());
  const Suffix& suffix = expr.suffixes[index];
  switch (suffix.kind) {
    case SuffixKind::kAttribute:
      return GetAttribute(rt_, value, suffix.name);
    case SuffixKind::kItem:
    case SuffixKind::kSlice:
      return ApplySubscript(suffix, value);
    case SuffixKind::kCall:
      return ApplyCall(suffix, value);
    default:
      return ApplyBuiltin(suffix, value);
  }
}

StatusOr<Value> Interpreter::ApplySubscript(const Suffix& suffix, const Value& value) {
  if (suffix.kind == SuffixKind::kItem) {
    MF_ASSIGN_OR_RETURN(const Value key, Eval(*suffix.index));
    return GetItem(rt_, value, key);
  }
  Value bounds[3] = {Value::None(), Value::None(), Value::None()};
  const Expr* exprs[3] = {suffix.index, suffix.end, suffix.step};
  for (size_t i = 0; i < 3; ++i) {
    if (exprs[i] == nullptr) continue;
    MF_ASSIGN_OR_RETURN(bounds[i], Eval(*exprs[i]));
  }
  return GetSlice(rt_, value, bounds[0], bounds[1], bounds[2]);
}

StatusOr<Value> Interpreter::ApplyBuiltin(const Suffix& suffix, const Value& value) {
  const bool is_filter = suffix.kind == SuffixKind::kFilter;
  if (suffix.def == nullptr) {
    return Status(StatusCode::kUnimplemented, Subsystem::kChat,
                  StrCat("no ", is_filter ? "filter" : "test", " named '", suffix.name, "'"));
  }
  CallArguments args;
  MF_RETURN_IF_ERROR(EvalArguments(*suffix.arguments, &args));
  MF_RETURN_IF_ERROR(StepInput(rt_, value));
  MF_ASSIGN_OR_RETURN(Value result, suffix.def->function(rt_, value, args));
  if (suffix.kind == SuffixKind::kTestNot) return Value::Bool(!IsTrue(result));
  return result;
}

StatusOr<Value> Interpreter::ApplyCall(const Suffix& suffix, const Value& value) {
  if (value.is(Kind::kUndefined)) return UndefinedError(value);
  CallArguments args;
  MF_RETURN_IF_ERROR(EvalArguments(*suffix.arguments, &args));
  return Call(value, std::move(args));
}

}  // namespace minfer::chat
