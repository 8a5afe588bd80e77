// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/interpreter.h"

#include <absl/cleanup/cleanup.h>

#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace minfer::chat {
namespace {

// A captured scope stays until the end; its size is bounded by the names of the template.
constexpr size_t kCapturedScopeBytes = 512;

// Scopes up to this size are searched name by name.
constexpr size_t kSmallScope = 16;

std::string_view KeywordOf(StmtKind kind) {
  constexpr std::string_view kKeywords[] = {"text",       "print", "if",      "for",    "set",
                                            "set",        "macro", "call",    "filter", "with",
                                            "generation", "break", "continue"};
  return kKeywords[static_cast<size_t>(kind)];
}

}  // namespace

const Value* Scope::Find(NameId name) const {
  if (!places.empty()) {
    const auto it = places.find(name);
    return it == places.end() ? nullptr : &values[it->second].second;
  }
  for (const auto& [id, value] : values) {
    if (id == name) return &value;
  }
  return nullptr;
}

void Scope::Set(NameId name, Value value) {
  if (const Value* known = Find(name); known != nullptr) {
    *const_cast<Value*>(known) = std::move(value);
    return;
  }
  values.emplace_back(name, std::move(value));
  if (values.size() <= kSmallScope) return;
  for (size_t i = places.empty() ? 0 : values.size() - 1; i < values.size(); ++i) {
    places.emplace(values[i].first, static_cast<uint32_t>(i));
  }
}

void Scope::Clear() {
  values.clear();
  places.clear();
}

void ScopeList::Push(std::unique_ptr<Scope> scope) noexcept {
  scope->next_ = std::move(head_);
  head_ = std::move(scope);
}

std::unique_ptr<Scope> ScopeList::Pop() noexcept {
  std::unique_ptr<Scope> scope = std::move(head_);
  if (scope != nullptr) head_ = std::move(scope->next_);
  return scope;
}

void ScopeList::ClearAll() noexcept {
  for (Scope* scope = head_.get(); scope != nullptr; scope = scope->next_.get()) scope->Clear();
}

ScopeList::~ScopeList() {
  // One by one: a chain of destructors would take as much stack as the list is long.
  while (Pop() != nullptr) {
  }
}

Interpreter::Block::Block(Interpreter* interpreter, Scope* parent)
    : interpreter_(interpreter), outer_(interpreter->scope_) {
  scope_ = interpreter_->spare_.Pop();
  if (scope_ == nullptr) scope_ = std::make_unique<Scope>();
  scope_->parent = parent;
  interpreter_->scope_ = scope_.get();
}

Interpreter::Block::~Block() {
  interpreter_->scope_ = outer_;
  if (scope_->captured) {
    interpreter_->retained_.Push(std::move(scope_));
    return;
  }
  scope_->Clear();
  interpreter_->spare_.Push(std::move(scope_));
}

Interpreter::Capture::Capture(Interpreter* interpreter)
    : interpreter_(interpreter), builder_(interpreter->rt_.NewText()), outer_(interpreter->out_) {}

Status Interpreter::Capture::Open() {
  MF_RETURN_IF_ERROR(interpreter_->rt_.heap.Charge(outer_->text().size()));
  charged_ = outer_->text().size();
  interpreter_->out_ = &builder_;
  return OkStatus();
}

Interpreter::Capture::~Capture() {
  interpreter_->rt_.heap.Release(charged_);
  interpreter_->out_ = outer_;
}

StatusOr<Value> Interpreter::Capture::Finish() {
  return interpreter_->rt_.Finish(std::move(builder_));
}

Interpreter::Interpreter(const Program& program, const RenderOptions& options)
    : program_(program), rt_(options) {}

Interpreter::~Interpreter() {
  // Namespaces and the scopes of macros may refer to each other in circles.
  for (const Value& value : rt_.namespaces) value.name_space().attributes.clear();
  retained_.ClearAll();
}

StatusOr<Text> Interpreter::Run(const Variables& variables) {
  globals_.resize(program_.names.size());
  for (size_t i = 0; i < globals_.size(); ++i) {
    if (const BuiltinDef* def = FindGlobal(program_.names[i]); def != nullptr) {
      globals_[i] = Value::Function(def);
    }
    for (const auto& [name, value] : variables) {
      if (name == program_.names[i]) globals_[i] = value;
    }
  }
  TextBuilder out(rt_.options.limits.max_output_bytes);
  out_ = &out;
  const absl::Cleanup close = [this] { out_ = nullptr; };
  {
    Block block(this, nullptr);
    MF_RETURN_IF_ERROR(ExecBody(program_.body).status());
  }
  return out.Take();
}

const Value* Interpreter::Lookup(NameId name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    if (const Value* value = scope->Find(name); value != nullptr) return value;
  }
  const Value& global = globals_[name];
  return global.is(Kind::kUndefined) ? nullptr : &global;
}

Status Interpreter::CheckDepth() const {
  if (!guard_.Exceeded()) return OkStatus();
  return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                StrCat("the template nests too deep: more than ", kStackBytes, " bytes of stack, ",
                       recursion_, " calls within one another"))
      .WithName("recursion")
      .WithBytes(kStackBytes + 1, kStackBytes);
}

Status Interpreter::Annotate(Status status, uint32_t line, std::string_view construct) {
  if (annotated_) return status;
  annotated_ = true;
  // The template's own message is passed on as it is.
  if (status.name() == "raise_exception") return status;
  return Status(status.code(), Subsystem::kChat, StrCat("line ", line, ": ", status.message()))
      .WithName(status.name().empty() ? construct : status.name())
      .WithBytes(status.bytes_wanted(), status.bytes_available());
}

StatusOr<Interpreter::Flow> Interpreter::ExecBody(const Body& body) {
  for (const Stmt* stmt : body) {
    StatusOr<Flow> flow = ExecStmt(*stmt);
    if (!flow.ok()) return Annotate(std::move(flow).status(), stmt->line, KeywordOf(stmt->kind));
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

StatusOr<Interpreter::Flow> Interpreter::ExecStmt(const Stmt& stmt) {
  MF_RETURN_IF_ERROR(rt_.Step());
  MF_RETURN_IF_ERROR(CheckDepth());
  Status status;
  switch (stmt.kind) {
    case StmtKind::kData:
      out_->Append(stmt.data);
      status = rt_.StepBytes(stmt.data.size());
      if (out_->full()) status = CheckOutput();
      break;
    case StmtKind::kOutput:
      status = ExecOutput(stmt);
      break;
    case StmtKind::kIf:
      return ExecIf(stmt);
    case StmtKind::kFor:
      return ExecFor(stmt);
    case StmtKind::kSet:
      status = ExecSet(stmt);
      break;
    case StmtKind::kSetBlock:
      status = ExecSetBlock(stmt);
      break;
    case StmtKind::kMacro:
      status = ExecMacro(stmt);
      break;
    case StmtKind::kCallBlock:
      status = ExecCallBlock(stmt);
      break;
    case StmtKind::kFilterBlock:
      status = ExecFilterBlock(stmt);
      break;
    case StmtKind::kWith:
      return ExecWith(stmt);
    case StmtKind::kGeneration:
      return ExecScoped(stmt.body);
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  MF_RETURN_IF_ERROR(std::move(status));
  return Flow::kNext;
}

StatusOr<Interpreter::Flow> Interpreter::ExecScoped(const Body& body) {
  Block block(this, scope_);
  return ExecBody(body);
}

Status Interpreter::CheckOutput() const {
  if (!out_->full()) return OkStatus();
  return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                StrCat("the output would take ", out_->wanted(), " bytes or more; the limit is ",
                       out_->limit()))
      .WithName("output")
      .WithBytes(out_->wanted(), out_->limit());
}

Status Interpreter::Emit(const Value& value) {
  const size_t before = out_->text().size();
  AppendStr(value, out_);
  MF_RETURN_IF_ERROR(CheckOutput());
  return rt_.StepBytes(out_->text().size() - before);
}

Status Interpreter::ExecOutput(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.expr));
  return Emit(value);
}

StatusOr<Interpreter::Flow> Interpreter::ExecIf(const Stmt& stmt) {
  for (const Branch& branch : stmt.branches) {
    if (branch.condition != nullptr) {
      MF_ASSIGN_OR_RETURN(const Value condition, Eval(*branch.condition));
      if (!IsTrue(condition)) continue;
    }
    return ExecBody(branch.body);
  }
  return Flow::kNext;
}

StatusOr<std::vector<Value>> Interpreter::LoopItems(const Stmt& stmt, const Value& iterable,
                                                    Scope* parent) {
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt_, iterable));
  if (stmt.condition == nullptr) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    Block block(this, parent);
    MF_RETURN_IF_ERROR(Assign(stmt.target, item));
    MF_ASSIGN_OR_RETURN(const Value condition, Eval(*stmt.condition));
    if (IsTrue(condition)) kept.push_back(std::move(item));
  }
  return kept;
}

StatusOr<Interpreter::Flow> Interpreter::ExecFor(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(const Value iterable, Eval(*stmt.expr));
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, LoopItems(stmt, iterable, scope_));
  return RunLoop(stmt, std::move(items), 0, scope_);
}

StatusOr<Interpreter::Flow> Interpreter::RunLoop(const Stmt& stmt, std::vector<Value> items,
                                                 int depth0, Scope* parent) {
  if (items.empty()) {
    Block block(this, parent);
    return ExecBody(stmt.branches[1].body);
  }
  MF_ASSIGN_OR_RETURN(const Value loop, rt_.make.Loop(std::move(items)));
  loop.loop().depth0 = depth0;
  loop.loop().scope = parent;
  if (stmt.recursive) loop.loop().statement = &stmt;
  StatusOr<Flow> flow = RunLoopBody(stmt, loop, parent);
  // The loop may outlive its statement in a variable; what it held could refer back to it.
  loop.loop().items.clear();
  loop.loop().changed = Value();
  loop.loop().statement = nullptr;
  return flow;
}

StatusOr<Interpreter::Flow> Interpreter::RunLoopBody(const Stmt& stmt, const Value& loop,
                                                     Scope* parent) {
  const size_t count = loop.loop().items.size();
  for (size_t i = 0; i < count; ++i) {
    MF_RETURN_IF_ERROR(rt_.Step());
    loop.loop().index0 = i;
    Block block(this, parent);
    block.scope().Set(kLoopName, loop);
    MF_RETURN_IF_ERROR(Assign(stmt.target, loop.loop().items[i]));
    MF_ASSIGN_OR_RETURN(const Flow flow, ExecBody(stmt.branches[0].body));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

StatusOr<Interpreter::Flow> Interpreter::ExecWith(const Stmt& stmt) {
  std::vector<Value> values;
  for (const auto& assignment : stmt.assignments) {
    MF_ASSIGN_OR_RETURN(Value value, Eval(*assignment.second));
    values.push_back(std::move(value));
  }
  Block block(this, scope_);
  for (size_t i = 0; i < values.size(); ++i) {
    MF_RETURN_IF_ERROR(Assign(stmt.assignments[i].first, values[i]));
  }
  return ExecBody(stmt.body);
}

Status Interpreter::AssignTuple(const Target& target, const Value& value) {
  if (value.is(Kind::kUndefined)) return UndefinedError(value);
  MF_ASSIGN_OR_RETURN(const std::vector<Value> parts, Iterate(rt_, value));
  const size_t wanted = target.items.size();
  if (parts.size() > wanted) {
    return TemplateError(StrCat("too many values to unpack (expected ", wanted, ")"));
  }
  if (parts.size() < wanted) {
    return TemplateError(
        StrCat("not enough values to unpack (expected ", wanted, ", got ", parts.size(), ")"));
  }
  for (size_t i = 0; i < wanted; ++i) MF_RETURN_IF_ERROR(Assign(target.items[i], parts[i]));
  return OkStatus();
}

Status Interpreter::Assign(const Target& target, const Value& value) {
  if (target.is_tuple) return AssignTuple(target, value);
  if (target.attribute.empty()) {
    scope_->Set(target.name, value);
    return OkStatus();
  }
  const Value* object = Lookup(target.name);
  if (object == nullptr || !object->is(Kind::kNamespace)) {
    return TemplateError("cannot assign attribute on non-namespace object")
        .WithName(program_.names[target.name]);
  }
  auto& attributes = object->name_space().attributes;
  MF_RETURN_IF_ERROR(rt_.Step(attributes.size() / 16));
  for (auto& [name, known] : attributes) {
    if (name != target.attribute) continue;
    known = value;
    return OkStatus();
  }
  attributes.emplace_back(target.attribute, value);
  return OkStatus();
}

Status Interpreter::ExecSet(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.expr));
  return Assign(stmt.target, value);
}

StatusOr<Value> Interpreter::CaptureScoped(const Body& body) {
  Capture capture(this);
  MF_RETURN_IF_ERROR(capture.Open());
  MF_ASSIGN_OR_RETURN(const Flow flow, ExecScoped(body));
  if (flow != Flow::kNext)
    return TemplateError("break or continue leaves a block that is captured");
  return capture.Finish();
}

Status Interpreter::ExecSetBlock(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(Value value, CaptureScoped(stmt.body));
  if (stmt.expr != nullptr) {
    MF_ASSIGN_OR_RETURN(value, ApplySuffixes(*stmt.expr, value, stmt.expr->suffixes.size()));
  }
  return Assign(stmt.target, value);
}

Status Interpreter::ExecFilterBlock(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(Value value, CaptureScoped(stmt.body));
  MF_ASSIGN_OR_RETURN(value, ApplySuffixes(*stmt.expr, value, stmt.expr->suffixes.size()));
  return Emit(value);
}

StatusOr<Value> Interpreter::NewMacro(const Stmt& stmt) {
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    MF_RETURN_IF_ERROR(rt_.heap.Charge(kCapturedScopeBytes));
    scope->captured = true;
  }
  return rt_.make.Macro(&stmt, scope_);
}

Status Interpreter::ExecMacro(const Stmt& stmt) {
  MF_ASSIGN_OR_RETURN(Value macro, NewMacro(stmt));
  scope_->Set(stmt.name, std::move(macro));
  return OkStatus();
}

Status Interpreter::ExecCallBlock(const Stmt& stmt) {
  const Expr& expr = *stmt.expr;
  MF_ASSIGN_OR_RETURN(Value callee, Eval(*expr.items[0]));
  MF_ASSIGN_OR_RETURN(callee, ApplySuffixes(expr, callee, expr.suffixes.size() - 1));
  CallArguments args;
  MF_RETURN_IF_ERROR(EvalArguments(*expr.suffixes.back().arguments, &args));
  MF_ASSIGN_OR_RETURN(Value caller, NewMacro(stmt));
  args.named.emplace_back("caller", std::move(caller));
  MF_ASSIGN_OR_RETURN(const Value value, Call(callee, std::move(args)));
  return Emit(value);
}

}  // namespace minfer::chat
