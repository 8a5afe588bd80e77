// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The syntax tree. Chains (a + b - c, x.y[0](z)|f) are flat nodes, not nested ones, so that the
// depth of the tree is the depth of the author's brackets. A Program owns its nodes and never
// changes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace minfer::chat {

using NameId = uint32_t;
struct Expr;
struct Stmt;
using Body = std::vector<const Stmt*>;

struct Arguments {
  std::vector<const Expr*> positional;
  std::vector<std::pair<std::string, const Expr*>> named;
  const Expr* star = nullptr;       // *args
  const Expr* star_star = nullptr;  // **kwargs
};

enum class SuffixKind : uint8_t { kAttribute, kItem, kSlice, kCall, kFilter, kTest, kTestNot };

// What follows a primary expression: .name [item] [a:b:c] (call) |filter "is test".
struct Suffix {
  SuffixKind kind = SuffixKind::kAttribute;
  uint32_t line = 0;
  std::string name;                 // attribute, filter or test
  const BuiltinDef* def = nullptr;  // filter or test; null when there is none of that name
  const Expr* index = nullptr;      // item, or where a slice begins
  const Expr* end = nullptr;
  const Expr* step = nullptr;
  std::unique_ptr<Arguments> arguments;  // of a call, filter or test

  Suffix() = default;
  Suffix(Suffix&&) noexcept = default;
  Suffix& operator=(Suffix&&) noexcept = default;
};

enum class ExprKind : uint8_t {
  kConstant,
  kName,
  kTuple,
  kList,
  kDict,         // items: key, value, key, value, ...
  kPostfix,      // items[0] with suffixes; items is empty for the input of a filter block
  kSigned,       // operators: the signs, outermost first
  kArithmetic,   // items with operators between them, left to right
  kConcatenate,  // ~
  kCompare,
  kNot,
  kAnd,
  kOr,
  kConditional,  // items: value, condition, value, condition, ..., and a last value or none
};

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  uint32_t line = 0;
  NameId name = 0;
  Value constant;
  std::vector<const Expr*> items;
  std::vector<Operator> operators;
  std::vector<Suffix> suffixes;

  Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;
};

enum class StmtKind : uint8_t {
  kData,
  kOutput,
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kGeneration,
  kBreak,
  kContinue,
};

// Where a value is stored: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  NameId name = 0;
  std::string attribute;
  std::vector<Target> items;
  bool is_tuple = false;
};

struct Branch {
  const Expr* condition = nullptr;  // null: else
  Body body;
};

struct Parameter {
  NameId name = 0;
  const Expr* default_value = nullptr;
};

struct Stmt {
  StmtKind kind = StmtKind::kData;
  uint32_t line = 0;
  std::string data;                 // text to copy, or the macro's name
  const Expr* expr = nullptr;       // output, iterable, value, call, filter
  const Expr* condition = nullptr;  // of a loop
  Target target;
  std::vector<Branch> branches;  // if; a loop's body and its else
  Body body;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Target, const Expr*>> assignments;  // with
  NameId name = 0;
  bool recursive = false;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct Program {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::vector<std::string> names;  // by NameId
  Body body;
};

// The names that the interpreter itself looks up have fixed ids.
inline constexpr NameId kLoopName = 0;
inline constexpr NameId kCallerName = 1;
inline constexpr NameId kVarargsName = 2;
inline constexpr NameId kKwargsName = 3;

}  // namespace minfer::chat
