// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Walks the tree of one template for one render.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "base/status.h"
#include "chat/ast.h"
#include "chat/runtime.h"
#include "chat/stack_guard.h"
#include "chat/text.h"
#include "chat/value.h"

namespace minfer::chat {

using Variables = std::vector<std::pair<std::string, Value>>;

// The names of one block.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<NameId, Value>> values;
  HashMap<NameId, uint32_t> places;  // of a large scope
  bool captured = false;  // a macro was defined here or below: kept until the render ends

  const Value* Find(NameId name) const;
  void Set(NameId name, Value value);
  void Clear();

 private:
  friend class ScopeList;
  std::unique_ptr<Scope> next_;  // of the list that owns it
};

// Owns scopes. Adding one takes no memory, so a scope can be put away while an exception passes.
class ScopeList {
 public:
  ScopeList() = default;
  ~ScopeList();
  ScopeList(const ScopeList&) = delete;
  ScopeList& operator=(const ScopeList&) = delete;

  void Push(std::unique_ptr<Scope> scope) noexcept;
  std::unique_ptr<Scope> Pop() noexcept;  // null when there is none
  void ClearAll() noexcept;

 private:
  std::unique_ptr<Scope> head_;
};

class Interpreter {
 public:
  Interpreter(const Program& program, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  StatusOr<Text> Run(const Variables& variables);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // Opens a scope below `parent` and closes it again.
  class Block {
   public:
    Block(Interpreter* interpreter, Scope* parent);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    Scope& scope() { return *scope_; }

   private:
    Interpreter* interpreter_;
    std::unique_ptr<Scope> scope_;
    Scope* outer_;
  };

  // Collects output in a text of its own while it lives; what waits outside counts as memory.
  class Capture {
   public:
    explicit Capture(Interpreter* interpreter);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    Status Open();
    StatusOr<Value> Finish();

   private:
    Interpreter* interpreter_;
    TextBuilder builder_;
    TextBuilder* outer_;
    size_t charged_ = 0;
  };

  // interpreter.cc: statements.
  StatusOr<Flow> ExecBody(const Body& body);
  StatusOr<Flow> ExecStmt(const Stmt& stmt);
  StatusOr<Flow> ExecScoped(const Body& body);
  StatusOr<Flow> ExecIf(const Stmt& stmt);
  StatusOr<Flow> ExecFor(const Stmt& stmt);
  StatusOr<Flow> ExecWith(const Stmt& stmt);
  Status ExecOutput(const Stmt& stmt);
  Status ExecSet(const Stmt& stmt);
  Status ExecSetBlock(const Stmt& stmt);
  Status ExecMacro(const Stmt& stmt);
  Status ExecCallBlock(const Stmt& stmt);
  Status ExecFilterBlock(const Stmt& stmt);
  StatusOr<std::vector<Value>> LoopItems(const Stmt& stmt, const Value& iterable, Scope* parent);
  StatusOr<Flow> RunLoop(const Stmt& stmt, std::vector<Value> items, int depth0, Scope* parent);
  StatusOr<Flow> RunLoopBody(const Stmt& stmt, const Value& loop, Scope* parent);
  Status Assign(const Target& target, const Value& value);
  Status AssignTuple(const Target& target, const Value& value);
  Status Emit(const Value& value);
  Status CheckOutput() const;
  StatusOr<Value> CaptureScoped(const Body& body);
  StatusOr<Value> NewMacro(const Stmt& stmt);

  // expressions.cc
  StatusOr<Value> Eval(const Expr& expr);
  StatusOr<Value> Dispatch(const Expr& expr);
  StatusOr<Value> EvalName(const Expr& expr);
  StatusOr<Value> EvalSequence(const Expr& expr);
  StatusOr<Value> EvalDict(const Expr& expr);
  StatusOr<Value> EvalSigned(const Expr& expr);
  StatusOr<Value> EvalArithmetic(const Expr& expr);
  StatusOr<Value> EvalConcatenate(const Expr& expr);
  StatusOr<Value> EvalCompare(const Expr& expr);
  StatusOr<Value> EvalLogic(const Expr& expr);
  StatusOr<Value> EvalConditional(const Expr& expr);
  StatusOr<Value> EvalPostfix(const Expr& expr);
  // Applies the first `count` suffixes.
  StatusOr<Value> ApplySuffixes(const Expr& expr, Value value, size_t count);
  StatusOr<Value> ApplySuffix(const Expr& expr, size_t index, const Value& value);
  StatusOr<Value> ApplySubscript(const Suffix& suffix, const Value& value);
  StatusOr<Value> ApplyBuiltin(const Suffix& suffix, const Value& value);
  StatusOr<Value> ApplyCall(const Suffix& suffix, const Value& value);

  // calls.cc
  StatusOr<Value> Call(const Value& callee, CallArguments args);
  StatusOr<Value> CallMacro(const MacroObject& macro, CallArguments args);
  StatusOr<Value> CallLoop(const LoopObject& loop, const CallArguments& args);
  Status BindParameters(const Stmt& macro, CallArguments* args, Scope* scope);
  Status BindSpecialNames(const Stmt& macro, CallArguments* args, size_t first_extra, Scope* scope);
  Status EvalArguments(const Arguments& arguments, CallArguments* out);
  Status EvalStarArguments(const Arguments& arguments, CallArguments* out);

  const Value* Lookup(NameId name) const;
  Status CheckDepth() const;
  // Adds the line, and the construct's name where the error names nothing itself, once.
  Status Annotate(Status status, uint32_t line, std::string_view construct);
  // What an error at this expression is said to be about.
  std::string_view ConstructOf(const Expr& expr) const;
  std::string_view ConstructOf(const Expr& expr, size_t suffix) const;

  const Program& program_;
  Runtime rt_;
  StackGuard guard_;
  std::vector<Value> globals_;  // by NameId: the caller's variables, then the language's functions
  ScopeList retained_;
  ScopeList spare_;
  Scope* scope_ = nullptr;
  TextBuilder* out_ = nullptr;
  int recursion_ = 0;
  bool annotated_ = false;
};

}  // namespace minfer::chat
