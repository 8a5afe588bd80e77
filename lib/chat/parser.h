// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Recursive descent over the tokens, with bounded nesting.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash_map.h"
#include "base/status.h"
#include "chat/ast.h"
#include "chat/lexer.h"
#include "chat/stack_guard.h"

namespace minfer::chat {

class Parser {
 public:
  Parser(std::vector<Token> tokens, int max_nesting);
  StatusOr<Program> Parse();

 private:
  using ExprOr = StatusOr<const Expr*>;

  // parser.cc: expressions.
  ExprOr ParseExpression();
  ExprOr ParseBinary(int min_level);
  ExprOr ParseUnary();
  ExprOr ParsePrimary();
  ExprOr ParseName();
  ExprOr ParseNumber();
  ExprOr ParseString();
  ExprOr ParseTuple(bool in_brackets);
  ExprOr ParseList();
  ExprOr ParseDict();
  Status ParsePostfix(std::vector<Suffix>* suffixes);
  Status ParseFilters(std::vector<Suffix>* suffixes);
  Status ParseFilter(std::vector<Suffix>* suffixes);
  Status ParseTest(std::vector<Suffix>* suffixes);
  Status ParseSubscript(std::vector<Suffix>* suffixes);
  Status ParseSlice(Suffix* suffix);
  Status ParseArguments(Arguments* arguments);
  Status ParseArgument(Arguments* arguments);
  // The level and kind of the binary operator at hand; false when there is none.
  bool PeekOperator(int* level, Operator* op, int* tokens) const;
  const Expr* WithSuffixes(const Expr* base, std::vector<Suffix> suffixes, uint32_t line);

  // parser_statements.cc
  Status ParseBody(std::initializer_list<std::string_view> ends, Body* body);
  Status ParseStatement(Body* body);
  Status ParseOutput(Body* body);
  Status ParseIf(Body* body);
  Status ParseFor(Body* body);
  Status ParseSet(Body* body);
  Status ParseMacro(Body* body);
  Status ParseCallBlock(Body* body);
  Status ParseFilterBlock(Body* body);
  Status ParseWith(Body* body);
  Status ParseGeneration(Body* body);
  Status ParsePrint(Body* body);
  Status ParseLoopControl(Body* body);
  Status ParseParameters(std::vector<Parameter>* parameters);
  Status ParseTarget(bool with_namespace, Target* target);
  Status ParseTargetItem(bool with_namespace, Target* target);
  // A macro's or call's body, noting which of caller, varargs and kwargs it names.
  Status ParseMacroBody(std::string_view end, Stmt* stmt);
  Status ParseScopedBody(std::string_view end, Body* body);

  const Token& Current() const { return tokens_[position_]; }
  const Token& Next() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  void Skip(size_t count = 1) { position_ = std::min(position_ + count, tokens_.size() - 1); }
  bool AtName(std::string_view name) const {
    return Current().kind == TokenKind::kName && Current().text == name;
  }
  bool AtOperator(std::string_view op) const {
    return Current().kind == TokenKind::kOperator && Current().text == op;
  }
  bool TakeName(std::string_view name);
  bool TakeOperator(std::string_view op);
  Status ExpectOperator(std::string_view op);
  Status ExpectBlockEnd();
  StatusOr<std::string> ExpectName();
  Status Unexpected(std::string_view wanted) const;
  Status CheckDepth() const;

  Expr* NewExpr(ExprKind kind, uint32_t line);
  Stmt* NewStmt(StmtKind kind, Body* body);
  NameId Intern(std::string_view name);

  struct UnknownBuiltin {
    uint32_t line;
    std::string message;
    std::string name;
  };
  // Unknown filters and tests are an error at once, except where they may never run: under an if.
  void NoteUnknown(std::string_view what, const std::string& name, uint32_t line);

  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
  int max_nesting_;
  int loops_ = 0;
  bool soft_ = false;
  bool uses_caller_ = false;
  bool uses_varargs_ = false;
  bool uses_kwargs_ = false;
  std::vector<UnknownBuiltin> unknown_;
  HashMap<std::string, NameId> name_ids_;
  Program program_;
  StackGuard guard_;
};

}  // namespace minfer::chat
