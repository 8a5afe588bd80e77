// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "chat/parser.h"

namespace minfer::chat {
namespace {

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template text";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "end of template";
    default:
      return StrCat("'", token.text, "'");
  }
}

std::string_view Construct(const Token& token) {
  switch (token.kind) {
    case TokenKind::kName:
    case TokenKind::kOperator:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return token.text;
    case TokenKind::kString:
      return "string";
    case TokenKind::kData:
      return "text";
    case TokenKind::kVariableBegin:
      return "{{";
    case TokenKind::kVariableEnd:
      return "}}";
    case TokenKind::kBlockBegin:
      return "{%";
    case TokenKind::kBlockEnd:
      return "%}";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "";
}

}  // namespace

Parser::Parser(std::vector<Token> tokens, int max_nesting)
    : tokens_(std::move(tokens)), max_nesting_(max_nesting) {
  for (const char* name : {"loop", "caller", "varargs", "kwargs"}) Intern(name);
}

StatusOr<Program> Parser::Parse() {
  MF_RETURN_IF_ERROR(ParseBody({}, &program_.body));
  if (!unknown_.empty()) {
    const UnknownBuiltin& first = unknown_.front();
    return Status(StatusCode::kUnimplemented, Subsystem::kChat,
                  StrCat("line ", first.line, ": ", first.message))
        .WithName(first.name);
  }
  return std::move(program_);
}

Expr* Parser::NewExpr(ExprKind kind, uint32_t line) {
  Expr& expr = program_.exprs.emplace_back();
  expr.kind = kind;
  expr.line = line;
  return &expr;
}

Stmt* Parser::NewStmt(StmtKind kind, Body* body) {
  Stmt& stmt = program_.stmts.emplace_back();
  stmt.kind = kind;
  stmt.line = Current().line;
  if (body != nullptr) body->push_back(&stmt);
  return &stmt;
}

NameId Parser::Intern(std::string_view name) {
  const auto [it, inserted] =
      name_ids_.try_emplace(std::string(name), static_cast<NameId>(program_.names.size()));
  if (inserted) program_.names.emplace_back(name);
  return it->second;
}

void Parser::NoteUnknown(std::string_view what, const std::string& name, uint32_t line) {
  if (!soft_) unknown_.push_back({line, StrCat("no ", what, " named '", name, "'"), name});
}

bool Parser::TakeName(std::string_view name) {
  if (!AtName(name)) return false;
  Skip();
  return true;
}

bool Parser::TakeOperator(std::string_view op) {
  if (!AtOperator(op)) return false;
  Skip();
  return true;
}

Status Parser::ExpectOperator(std::string_view op) {
  return TakeOperator(op) ? OkStatus() : Unexpected(StrCat("'", op, "'"));
}

Status Parser::ExpectBlockEnd() {
  if (Current().kind != TokenKind::kBlockEnd) return Unexpected("end of statement block");
  Skip();
  return OkStatus();
}

StatusOr<std::string> Parser::ExpectName() {
  if (Current().kind != TokenKind::kName) return Unexpected("a name");
  std::string name = Current().text;
  Skip();
  return name;
}

Status Parser::Unexpected(std::string_view wanted) const {
  return SyntaxError(Current().line, Construct(Current()),
                     StrCat("expected ", wanted, ", got ", Describe(Current())));
}

Status Parser::CheckDepth() const {
  if (depth_ <= max_nesting_ && !guard_.Exceeded()) return OkStatus();
  return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                StrCat("line ", Current().line, ": nesting of depth ", depth_,
                       " is too deep; the limit is ", max_nesting_))
      .WithName(Construct(Current()));
}

Status Parser::ParseBody(std::initializer_list<std::string_view> ends, Body* body) {
  ++depth_;
  const absl::Cleanup leave = [this] { --depth_; };
  MF_RETURN_IF_ERROR(CheckDepth());
  while (Current().kind != TokenKind::kEnd) {
    if (Current().kind == TokenKind::kData) {
      Stmt* stmt = NewStmt(StmtKind::kData, body);
      stmt->data = Current().text;
      Skip();
      continue;
    }
    if (Current().kind == TokenKind::kVariableBegin) {
      MF_RETURN_IF_ERROR(ParseOutput(body));
      continue;
    }
    Skip();  // "{%"
    const bool ended =
        Current().kind == TokenKind::kName &&
        std::find(ends.begin(), ends.end(), std::string_view(Current().text)) != ends.end();
    if (ended) return OkStatus();
    MF_RETURN_IF_ERROR(ParseStatement(body));
  }
  if (ends.size() == 0) return OkStatus();
  return Unexpected(StrCat("'", *(ends.end() - 1), "'"));
}

Status Parser::ParseOutput(Body* body) {
  Skip();
  Stmt* stmt = NewStmt(StmtKind::kOutput, body);
  MF_ASSIGN_OR_RETURN(stmt->expr, ParseTuple(false));
  if (Current().kind != TokenKind::kVariableEnd) return Unexpected("end of print statement");
  Skip();
  return OkStatus();
}

Status Parser::ParseStatement(Body* body) {
  struct Rule {
    std::string_view name;
    Status (Parser::*parse)(Body*);
  };
  static constexpr Rule kRules[] = {{"if", &Parser::ParseIf},
                                    {"for", &Parser::ParseFor},
                                    {"set", &Parser::ParseSet},
                                    {"macro", &Parser::ParseMacro},
                                    {"call", &Parser::ParseCallBlock},
                                    {"filter", &Parser::ParseFilterBlock},
                                    {"with", &Parser::ParseWith},
                                    {"generation", &Parser::ParseGeneration},
                                    {"print", &Parser::ParsePrint},
                                    {"break", &Parser::ParseLoopControl},
                                    {"continue", &Parser::ParseLoopControl}};
  static constexpr std::string_view kUnsupported[] = {
      "extends", "block", "include", "import", "from", "autoescape", "do", "trans", "debug"};
  if (Current().kind != TokenKind::kName) return Unexpected("a tag name");
  const std::string& name = Current().text;
  for (const Rule& rule : kRules) {
    if (rule.name == name) return (this->*rule.parse)(body);
  }
  if (std::find(std::begin(kUnsupported), std::end(kUnsupported), name) != std::end(kUnsupported)) {
    return Status(StatusCode::kUnimplemented, Subsystem::kChat,
                  StrCat("line ", Current().line, ": the tag '", name, "' is not supported"))
        .WithName(name);
  }
  return SyntaxError(Current().line, name, StrCat("unknown tag '", name, "'"));
}

Status Parser::ParseIf(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kIf, body);
  const bool outer_soft = soft_;
  const absl::Cleanup restore = [this, outer_soft] { soft_ = outer_soft; };
  while (true) {
    Branch& branch = stmt->branches.emplace_back();
    const bool has_condition = !AtName("else");
    Skip();  // if, elif or else
    if (has_condition) {
      MF_ASSIGN_OR_RETURN(branch.condition, ParseTuple(false));
    }
    MF_RETURN_IF_ERROR(ExpectBlockEnd());
    soft_ = true;
    if (has_condition) {
      MF_RETURN_IF_ERROR(ParseBody({"elif", "else", "endif"}, &branch.body));
    } else {
      MF_RETURN_IF_ERROR(ParseBody({"endif"}, &branch.body));
    }
    if (TakeName("endif")) return ExpectBlockEnd();
  }
}

Status Parser::ParseFor(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kFor, body);
  Skip();
  MF_RETURN_IF_ERROR(ParseTarget(false, &stmt->target));
  if (!TakeName("in")) return Unexpected("'in'");
  // The iterable takes no "a if b": that if filters the items.
  const uint32_t line = Current().line;
  std::vector<const Expr*> items;
  do {
    if (!items.empty() && (AtName("if") || AtName("recursive"))) break;
    MF_ASSIGN_OR_RETURN(const Expr* item, ParseBinary(0));
    items.push_back(item);
  } while (TakeOperator(",") && Current().kind != TokenKind::kBlockEnd);
  stmt->expr = items[0];
  if (items.size() > 1) {
    Expr* tuple = NewExpr(ExprKind::kTuple, line);
    tuple->items = std::move(items);
    stmt->expr = tuple;
  }
  if (TakeName("if")) {
    MF_ASSIGN_OR_RETURN(stmt->condition, ParseExpression());
  }
  stmt->recursive = TakeName("recursive");
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  const bool outer_soft = std::exchange(soft_, false);
  const absl::Cleanup restore = [this, outer_soft] { soft_ = outer_soft; };
  stmt->branches.resize(2);
  ++loops_;
  const Status in_loop = ParseBody({"else", "endfor"}, &stmt->branches[0].body);
  --loops_;
  MF_RETURN_IF_ERROR(in_loop);
  if (TakeName("else")) {
    MF_RETURN_IF_ERROR(ExpectBlockEnd());
    MF_RETURN_IF_ERROR(ParseBody({"endfor"}, &stmt->branches[1].body));
  }
  Skip();  // endfor
  return ExpectBlockEnd();
}

Status Parser::ParseTargetItem(bool with_namespace, Target* target) {
  if (Current().kind == TokenKind::kName) {
    const std::string_view name = Current().text;
    if (name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
        name == "None") {
      return SyntaxError(Current().line, name, StrCat("can't assign to '", name, "'"));
    }
  }
  MF_ASSIGN_OR_RETURN(const std::string name, ExpectName());
  target->name = Intern(name);
  if (with_namespace && TakeOperator(".")) {
    MF_ASSIGN_OR_RETURN(target->attribute, ExpectName());
  }
  return OkStatus();
}

Status Parser::ParseTarget(bool with_namespace, Target* target) {
  ++depth_;
  const absl::Cleanup leave = [this] { --depth_; };
  MF_RETURN_IF_ERROR(CheckDepth());
  std::vector<Target> items;
  bool is_tuple = false;
  do {
    if (!items.empty() && (AtName("in") || AtOperator("=") || AtOperator(")"))) break;
    Target& item = items.emplace_back();
    if (TakeOperator("(")) {
      MF_RETURN_IF_ERROR(ParseTarget(with_namespace, &item));
      MF_RETURN_IF_ERROR(ExpectOperator(")"));
    } else {
      MF_RETURN_IF_ERROR(ParseTargetItem(with_namespace, &item));
    }
    is_tuple |= AtOperator(",");
  } while (TakeOperator(","));
  if (is_tuple) {
    target->is_tuple = true;
    target->items = std::move(items);
  } else {
    Target only = std::move(items[0]);
    *target = std::move(only);
  }
  return OkStatus();
}

Status Parser::ParseSet(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kSet, body);
  Skip();
  MF_RETURN_IF_ERROR(ParseTarget(true, &stmt->target));
  if (TakeOperator("=")) {
    MF_ASSIGN_OR_RETURN(stmt->expr, ParseTuple(false));
    return ExpectBlockEnd();
  }
  stmt->kind = StmtKind::kSetBlock;
  std::vector<Suffix> filters;
  MF_RETURN_IF_ERROR(ParseFilters(&filters));
  stmt->expr = WithSuffixes(nullptr, std::move(filters), stmt->line);
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  return ParseScopedBody("endset", &stmt->body);
}

Status Parser::ParseScopedBody(std::string_view end, Body* body) {
  const bool outer_soft = std::exchange(soft_, false);
  const absl::Cleanup restore = [this, outer_soft] { soft_ = outer_soft; };
  MF_RETURN_IF_ERROR(ParseBody({end}, body));
  Skip();
  return ExpectBlockEnd();
}

Status Parser::ParseMacroBody(std::string_view end, Stmt* stmt) {
  const int outer_loops = std::exchange(loops_, 0);
  const bool caller = std::exchange(uses_caller_, false);
  const bool varargs = std::exchange(uses_varargs_, false);
  const bool kwargs = std::exchange(uses_kwargs_, false);
  const Status status = ParseScopedBody(end, &stmt->body);
  loops_ = outer_loops;
  stmt->uses_caller = std::exchange(uses_caller_, caller);
  stmt->uses_varargs = std::exchange(uses_varargs_, varargs);
  stmt->uses_kwargs = std::exchange(uses_kwargs_, kwargs);
  return status;
}

Status Parser::ParseParameters(std::vector<Parameter>* parameters) {
  MF_RETURN_IF_ERROR(ExpectOperator("("));
  bool defaults = false;
  while (!AtOperator(")")) {
    Parameter& parameter = parameters->emplace_back();
    const uint32_t line = Current().line;
    MF_ASSIGN_OR_RETURN(const std::string name, ExpectName());
    parameter.name = Intern(name);
    if (TakeOperator("=")) {
      defaults = true;
      MF_ASSIGN_OR_RETURN(parameter.default_value, ParseExpression());
    } else if (defaults) {
      return SyntaxError(line, name, "non-default argument follows default argument");
    }
    if (!AtOperator(")")) MF_RETURN_IF_ERROR(ExpectOperator(","));
  }
  return ExpectOperator(")");
}

Status Parser::ParseMacro(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kMacro, body);
  Skip();
  MF_ASSIGN_OR_RETURN(stmt->data, ExpectName());
  stmt->name = Intern(stmt->data);
  MF_RETURN_IF_ERROR(ParseParameters(&stmt->parameters));
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  return ParseMacroBody("endmacro", stmt);
}

Status Parser::ParseCallBlock(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kCallBlock, body);
  Skip();
  stmt->data = "caller";
  if (AtOperator("(")) MF_RETURN_IF_ERROR(ParseParameters(&stmt->parameters));
  MF_ASSIGN_OR_RETURN(stmt->expr, ParseExpression());
  if (stmt->expr->kind != ExprKind::kPostfix ||
      stmt->expr->suffixes.back().kind != SuffixKind::kCall) {
    return SyntaxError(stmt->line, "call", "expected a call");
  }
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  return ParseMacroBody("endcall", stmt);
}

Status Parser::ParseFilterBlock(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kFilterBlock, body);
  Skip();
  std::vector<Suffix> filters;
  do {
    MF_RETURN_IF_ERROR(ParseFilter(&filters));
  } while (TakeOperator("|"));
  stmt->expr = WithSuffixes(nullptr, std::move(filters), stmt->line);
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  return ParseScopedBody("endfilter", &stmt->body);
}

Status Parser::ParseWith(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kWith, body);
  Skip();
  while (Current().kind != TokenKind::kBlockEnd) {
    if (!stmt->assignments.empty()) MF_RETURN_IF_ERROR(ExpectOperator(","));
    Target target;
    MF_RETURN_IF_ERROR(ParseTargetItem(false, &target));
    MF_RETURN_IF_ERROR(ExpectOperator("="));
    MF_ASSIGN_OR_RETURN(const Expr* value, ParseExpression());
    stmt->assignments.emplace_back(std::move(target), value);
  }
  Skip();
  return ParseScopedBody("endwith", &stmt->body);
}

Status Parser::ParseGeneration(Body* body) {
  Stmt* stmt = NewStmt(StmtKind::kGeneration, body);
  Skip();
  MF_RETURN_IF_ERROR(ExpectBlockEnd());
  return ParseScopedBody("endgeneration", &stmt->body);
}

Status Parser::ParsePrint(Body* body) {
  Skip();
  while (Current().kind != TokenKind::kBlockEnd) {
    Stmt* stmt = NewStmt(StmtKind::kOutput, body);
    MF_ASSIGN_OR_RETURN(stmt->expr, ParseExpression());
    if (Current().kind != TokenKind::kBlockEnd) MF_RETURN_IF_ERROR(ExpectOperator(","));
  }
  return ExpectBlockEnd();
}

Status Parser::ParseLoopControl(Body* body) {
  const std::string& name = Current().text;
  if (loops_ == 0) {
    return SyntaxError(Current().line, name, StrCat("'", name, "' outside a loop"));
  }
  NewStmt(name == "break" ? StmtKind::kBreak : StmtKind::kContinue, body);
  Skip();
  return ExpectBlockEnd();
}

}  // namespace minfer::chat
