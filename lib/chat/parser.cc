// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/parser.h"

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/json.h"

namespace minfer::chat {
namespace {

// Binding strength, weakest first; each level's chain is one node.
enum Level : int {
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kSumLevel,
  kConcatenateLevel,
  kProductLevel,
  kPowerLevel,
};

struct OperatorRule {
  std::string_view text;
  int level;
  Operator op;
};

constexpr OperatorRule kOperatorRules[] = {
    {"==", kCompareLevel, Operator::kEqual},  {"!=", kCompareLevel, Operator::kNotEqual},
    {"<", kCompareLevel, Operator::kLess},    {"<=", kCompareLevel, Operator::kLessEqual},
    {">", kCompareLevel, Operator::kGreater}, {">=", kCompareLevel, Operator::kGreaterEqual},
    {"+", kSumLevel, Operator::kAdd},         {"-", kSumLevel, Operator::kSubtract},
    {"~", kConcatenateLevel, Operator::kAdd}, {"*", kProductLevel, Operator::kMultiply},
    {"/", kProductLevel, Operator::kDivide},  {"//", kProductLevel, Operator::kFloorDivide},
    {"%", kProductLevel, Operator::kModulo},  {"**", kPowerLevel, Operator::kPower},
};

ExprKind KindOfLevel(int level) {
  switch (level) {
    case kOrLevel:
      return ExprKind::kOr;
    case kAndLevel:
      return ExprKind::kAnd;
    case kCompareLevel:
      return ExprKind::kCompare;
    case kConcatenateLevel:
      return ExprKind::kConcatenate;
    default:
      return ExprKind::kArithmetic;
  }
}

bool IsReserved(std::string_view name) {
  return name == "if" || name == "else" || name == "elif" || name == "and" || name == "or" ||
         name == "not" || name == "in" || name == "is";
}

}  // namespace

bool Parser::PeekOperator(int* level, Operator* op, int* tokens) const {
  *tokens = 1;
  *op = Operator::kAdd;
  const std::string_view text = Current().text;
  if (Current().kind == TokenKind::kOperator) {
    for (const OperatorRule& rule : kOperatorRules) {
      if (rule.text != text) continue;
      *level = rule.level;
      *op = rule.op;
      return true;
    }
    return false;
  }
  if (Current().kind != TokenKind::kName) return false;
  if (text == "or" || text == "and") {
    *level = text == "or" ? kOrLevel : kAndLevel;
    return true;
  }
  *level = kCompareLevel;
  *op = Operator::kIn;
  if (text == "in") return true;
  *op = Operator::kNotIn;
  *tokens = 2;
  return text == "not" && Next().kind == TokenKind::kName && Next().text == "in";
}

Parser::ExprOr Parser::ParseExpression() {
  ++depth_;
  const absl::Cleanup leave = [this] { --depth_; };
  MF_RETURN_IF_ERROR(CheckDepth());
  const size_t unknown_before = unknown_.size();
  const uint32_t line = Current().line;
  MF_ASSIGN_OR_RETURN(const Expr* expr, ParseBinary(kOrLevel));
  while (TakeName("if")) {
    Expr* node = NewExpr(ExprKind::kConditional, line);
    node->items.push_back(expr);
    do {
      MF_ASSIGN_OR_RETURN(const Expr* condition, ParseBinary(kOrLevel));
      node->items.push_back(condition);
      if (!TakeName("else")) break;
      MF_ASSIGN_OR_RETURN(const Expr* other, ParseBinary(kOrLevel));
      node->items.push_back(other);
    } while (TakeName("if"));
    expr = node;
    unknown_.resize(unknown_before);
  }
  return expr;
}

Parser::ExprOr Parser::ParseBinary(int min_level) {
  MF_RETURN_IF_ERROR(CheckDepth());
  const uint32_t line = Current().line;
  size_t negations = 0;
  while (min_level <= kNotLevel && TakeName("not")) ++negations;
  const Expr* left = nullptr;
  if (negations > 0) {
    MF_ASSIGN_OR_RETURN(left, ParseBinary(kCompareLevel));
    for (size_t i = negations % 2 == 0 ? 2 : 1; i > 0; --i) {
      Expr* node = NewExpr(ExprKind::kNot, line);
      node->items.push_back(left);
      left = node;
    }
  } else {
    MF_ASSIGN_OR_RETURN(left, ParseUnary());
  }
  Expr* chain = nullptr;
  int chain_level = -1;
  int level = 0;
  int tokens = 0;
  Operator op;
  while (PeekOperator(&level, &op, &tokens) && level >= min_level) {
    Skip(tokens);
    MF_ASSIGN_OR_RETURN(const Expr* right, ParseBinary(level + 1));
    if (chain == nullptr || chain_level != level) {
      chain = NewExpr(KindOfLevel(level), line);
      chain->items.push_back(left);
      chain_level = level;
      left = chain;
    }
    chain->items.push_back(right);
    chain->operators.push_back(op);
  }
  return left;
}

Parser::ExprOr Parser::ParseUnary() {
  const uint32_t line = Current().line;
  std::vector<Operator> signs;
  while (AtOperator("-") || AtOperator("+")) {
    signs.push_back(AtOperator("-") ? Operator::kSubtract : Operator::kAdd);
    Skip();
  }
  MF_ASSIGN_OR_RETURN(const Expr* expr, ParsePrimary());
  std::vector<Suffix> suffixes;
  MF_RETURN_IF_ERROR(ParsePostfix(&suffixes));
  if (!signs.empty()) {
    Expr* node = NewExpr(ExprKind::kSigned, line);
    node->items.push_back(WithSuffixes(expr, std::move(suffixes), line));
    node->operators = std::move(signs);
    expr = node;
    suffixes.clear();
  }
  MF_RETURN_IF_ERROR(ParseFilters(&suffixes));
  return WithSuffixes(expr, std::move(suffixes), line);
}

const Expr* Parser::WithSuffixes(const Expr* base, std::vector<Suffix> suffixes, uint32_t line) {
  if (suffixes.empty()) return base;
  Expr* node = NewExpr(ExprKind::kPostfix, line);
  if (base != nullptr) node->items.push_back(base);
  suffixes.shrink_to_fit();
  node->suffixes = std::move(suffixes);
  return node;
}

Parser::ExprOr Parser::ParsePrimary() {
  switch (Current().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kString:
      return ParseString();
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseNumber();
    default:
      break;
  }
  if (AtOperator("[")) return ParseList();
  if (AtOperator("{")) return ParseDict();
  if (!TakeOperator("(")) return Unexpected("an expression");
  MF_ASSIGN_OR_RETURN(const Expr* expr, ParseTuple(true));
  MF_RETURN_IF_ERROR(ExpectOperator(")"));
  return expr;
}

Parser::ExprOr Parser::ParseName() {
  const std::string& name = Current().text;
  if (IsReserved(name)) return Unexpected("an expression");
  Expr* node = NewExpr(ExprKind::kConstant, Current().line);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->constant = Value::Bool(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    node->constant = Value::None();
  } else {
    node->kind = ExprKind::kName;
    node->name = Intern(name);
    uses_caller_ |= node->name == kCallerName;
    uses_varargs_ |= node->name == kVarargsName;
    uses_kwargs_ |= node->name == kKwargsName;
  }
  Skip();
  return node;
}

Parser::ExprOr Parser::ParseNumber() {
  const Token& token = Current();
  Expr* node = NewExpr(ExprKind::kConstant, token.line);
  std::string_view digits = token.text;
  if (token.kind == TokenKind::kFloat) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    node->constant = Value::Float(value);
  } else {
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0') {
      const char letter = static_cast<char>(digits[1] | 0x20);
      base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
      if (base != 10) digits.remove_prefix(2);
    }
    int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (result.ptr != digits.data() + digits.size() || (base != 10 && result.ec != std::errc())) {
      return SyntaxError(token.line, token.text, StrCat("'", token.text, "' is no number"));
    }
    if (result.ec == std::errc()) {
      node->constant = Value::Int(value);
    } else {
      MF_ASSIGN_OR_RETURN(node->constant, ValueFactory(nullptr).BigInt(std::string(digits)));
    }
  }
  Skip();
  return node;
}

Parser::ExprOr Parser::ParseString() {
  Expr* node = NewExpr(ExprKind::kConstant, Current().line);
  std::string text;
  for (; Current().kind == TokenKind::kString; Skip()) text += Current().text;
  MF_ASSIGN_OR_RETURN(node->constant, ValueFactory(nullptr).String(std::move(text)));
  return node;
}

Parser::ExprOr Parser::ParseTuple(bool in_brackets) {
  const uint32_t line = Current().line;
  std::vector<const Expr*> items;
  bool is_tuple = false;
  const auto at_end = [this] {
    return Current().kind == TokenKind::kVariableEnd || Current().kind == TokenKind::kBlockEnd ||
           AtOperator(")");
  };
  while (!at_end()) {
    MF_ASSIGN_OR_RETURN(const Expr* item, ParseExpression());
    items.push_back(item);
    if (!TakeOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items[0];
  if (!is_tuple && !in_brackets) return Unexpected("an expression");
  Expr* node = NewExpr(ExprKind::kTuple, line);
  node->items = std::move(items);
  return node;
}

Parser::ExprOr Parser::ParseList() {
  Expr* node = NewExpr(ExprKind::kList, Current().line);
  Skip();
  while (!AtOperator("]")) {
    MF_ASSIGN_OR_RETURN(const Expr* item, ParseExpression());
    node->items.push_back(item);
    if (!TakeOperator(",")) break;
  }
  MF_RETURN_IF_ERROR(ExpectOperator("]"));
  return node;
}

Parser::ExprOr Parser::ParseDict() {
  Expr* node = NewExpr(ExprKind::kDict, Current().line);
  Skip();
  while (!AtOperator("}")) {
    MF_ASSIGN_OR_RETURN(const Expr* key, ParseExpression());
    MF_RETURN_IF_ERROR(ExpectOperator(":"));
    MF_ASSIGN_OR_RETURN(const Expr* value, ParseExpression());
    node->items.push_back(key);
    node->items.push_back(value);
    if (!TakeOperator(",")) break;
  }
  MF_RETURN_IF_ERROR(ExpectOperator("}"));
  return node;
}

Status Parser::ParsePostfix(std::vector<Suffix>* suffixes) {
  while (true) {
    if (AtOperator(".") || AtOperator("[")) {
      MF_RETURN_IF_ERROR(ParseSubscript(suffixes));
    } else if (AtOperator("(")) {
      Suffix& call = suffixes->emplace_back();
      call.kind = SuffixKind::kCall;
      call.line = Current().line;
      auto arguments = std::make_unique<Arguments>();
      MF_RETURN_IF_ERROR(ParseArguments(arguments.get()));
      suffixes->back().arguments = std::move(arguments);
    } else {
      return OkStatus();
    }
  }
}

Status Parser::ParseFilters(std::vector<Suffix>* suffixes) {
  while (true) {
    if (TakeOperator("|")) {
      MF_RETURN_IF_ERROR(ParseFilter(suffixes));
    } else if (TakeName("is")) {
      MF_RETURN_IF_ERROR(ParseTest(suffixes));
    } else if (AtOperator("(")) {
      Suffix& call = suffixes->emplace_back();
      call.kind = SuffixKind::kCall;
      call.line = Current().line;
      auto arguments = std::make_unique<Arguments>();
      MF_RETURN_IF_ERROR(ParseArguments(arguments.get()));
      suffixes->back().arguments = std::move(arguments);
    } else {
      return OkStatus();
    }
  }
}

Status Parser::ParseFilter(std::vector<Suffix>* suffixes) {
  Suffix filter;
  filter.kind = SuffixKind::kFilter;
  filter.line = Current().line;
  MF_ASSIGN_OR_RETURN(filter.name, ExpectName());
  while (TakeOperator(".")) {
    MF_ASSIGN_OR_RETURN(const std::string part, ExpectName());
    filter.name += StrCat(".", part);
  }
  filter.def = FindFilter(filter.name);
  if (filter.def == nullptr) NoteUnknown("filter", filter.name, filter.line);
  filter.arguments = std::make_unique<Arguments>();
  if (AtOperator("(")) MF_RETURN_IF_ERROR(ParseArguments(filter.arguments.get()));
  suffixes->push_back(std::move(filter));
  return OkStatus();
}

Status Parser::ParseTest(std::vector<Suffix>* suffixes) {
  Suffix test;
  test.kind = TakeName("not") ? SuffixKind::kTestNot : SuffixKind::kTest;
  test.line = Current().line;
  MF_ASSIGN_OR_RETURN(test.name, ExpectName());
  test.def = FindTest(test.name);
  if (test.def == nullptr) NoteUnknown("test", test.name, test.line);
  test.arguments = std::make_unique<Arguments>();
  const TokenKind kind = Current().kind;
  if (AtOperator("(")) {
    MF_RETURN_IF_ERROR(ParseArguments(test.arguments.get()));
  } else if (AtName("is")) {
    return SyntaxError(Current().line, "is", "tests can't be chained with 'is'");
  } else if (kind == TokenKind::kString || kind == TokenKind::kInteger ||
             kind == TokenKind::kFloat || AtOperator("[") || AtOperator("{") ||
             (kind == TokenKind::kName && !IsReserved(Current().text))) {
    // The one argument may stand without brackets: "is divisibleby 3".
    const uint32_t line = Current().line;
    ++depth_;
    const absl::Cleanup leave = [this] { --depth_; };
    MF_RETURN_IF_ERROR(CheckDepth());
    MF_ASSIGN_OR_RETURN(const Expr* argument, ParsePrimary());
    std::vector<Suffix> argument_suffixes;
    MF_RETURN_IF_ERROR(ParsePostfix(&argument_suffixes));
    test.arguments->positional.push_back(
        WithSuffixes(argument, std::move(argument_suffixes), line));
  }
  suffixes->push_back(std::move(test));
  return OkStatus();
}

Status Parser::ParseSubscript(std::vector<Suffix>* suffixes) {
  Suffix suffix;
  suffix.line = Current().line;
  if (TakeOperator(".")) {
    const Token& token = Current();
    if (token.kind == TokenKind::kName) {
      suffix.kind = SuffixKind::kAttribute;
      suffix.name = token.text;
      Skip();
    } else if (token.kind == TokenKind::kInteger) {
      suffix.kind = SuffixKind::kItem;
      MF_ASSIGN_OR_RETURN(suffix.index, ParseNumber());
    } else {
      return Unexpected("a name or number");
    }
  } else {
    Skip();
    MF_RETURN_IF_ERROR(ParseSlice(&suffix));
    MF_RETURN_IF_ERROR(ExpectOperator("]"));
  }
  suffixes->push_back(std::move(suffix));
  return OkStatus();
}

Status Parser::ParseSlice(Suffix* suffix) {
  suffix->kind = SuffixKind::kItem;
  if (!AtOperator(":")) {
    MF_ASSIGN_OR_RETURN(suffix->index, ParseExpression());
    if (AtOperator(",")) {
      // x[1, 2] asks for the key (1, 2).
      Expr* key = NewExpr(ExprKind::kTuple, suffix->line);
      key->items.push_back(suffix->index);
      while (TakeOperator(",")) {
        MF_ASSIGN_OR_RETURN(const Expr* item, ParseExpression());
        key->items.push_back(item);
      }
      suffix->index = key;
      return OkStatus();
    }
    if (!AtOperator(":")) return OkStatus();
  }
  Skip();
  suffix->kind = SuffixKind::kSlice;
  if (!AtOperator(":") && !AtOperator("]")) {
    MF_ASSIGN_OR_RETURN(suffix->end, ParseExpression());
  }
  if (TakeOperator(":") && !AtOperator("]")) {
    MF_ASSIGN_OR_RETURN(suffix->step, ParseExpression());
  }
  return OkStatus();
}

Status Parser::ParseArguments(Arguments* arguments) {
  MF_RETURN_IF_ERROR(ExpectOperator("("));
  while (!AtOperator(")")) {
    MF_RETURN_IF_ERROR(ParseArgument(arguments));
    if (!TakeOperator(",")) break;
  }
  return ExpectOperator(")");
}

Status Parser::ParseArgument(Arguments* arguments) {
  const uint32_t line = Current().line;
  const bool star = AtOperator("*");
  if (star || AtOperator("**")) {
    if (arguments->star_star != nullptr || (star && arguments->star != nullptr)) {
      return SyntaxError(line, "call", "invalid syntax for function call expression");
    }
    Skip();
    MF_ASSIGN_OR_RETURN(const Expr* value, ParseExpression());
    (star ? arguments->star : arguments->star_star) = value;
    return OkStatus();
  }
  const bool named = Current().kind == TokenKind::kName && Next().kind == TokenKind::kOperator &&
                     Next().text == "=";
  if (arguments->star_star != nullptr ||
      (!named && (arguments->star != nullptr || !arguments->named.empty()))) {
    return SyntaxError(line, "call", "invalid syntax for function call expression");
  }
  if (!named) {
    MF_ASSIGN_OR_RETURN(const Expr* value, ParseExpression());
    arguments->positional.push_back(value);
    return OkStatus();
  }
  std::string name = Current().text;
  Skip(2);
  MF_ASSIGN_OR_RETURN(const Expr* value, ParseExpression());
  arguments->named.emplace_back(std::move(name), value);
  return OkStatus();
}

}  // namespace minfer::chat
