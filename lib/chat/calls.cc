// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/interpreter.h"
#include "chat/operators.h"

namespace minfer::chat {

Status Interpreter::EvalArguments(const Arguments& arguments, CallArguments* out) {
  for (const Expr* expr : arguments.positional) {
    MF_ASSIGN_OR_RETURN(Value value, Eval(*expr));
    out->positional.push_back(std::move(value));
  }
  for (const auto& [name, expr] : arguments.named) {
    MF_ASSIGN_OR_RETURN(Value value, Eval(*expr));
    out->named.emplace_back(name, std::move(value));
  }
  if (arguments.star == nullptr && arguments.star_star == nullptr) return OkStatus();
  return EvalStarArguments(arguments, out);
}

Status Interpreter::EvalStarArguments(const Arguments& arguments, CallArguments* out) {
  if (arguments.star != nullptr) {
    MF_ASSIGN_OR_RETURN(const Value value, Eval(*arguments.star));
    MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt_, value));
    out->positional.insert(out->positional.end(), items.begin(), items.end());
  }
  if (arguments.star_star == nullptr) return OkStatus();
  MF_ASSIGN_OR_RETURN(const Value mapping, Eval(*arguments.star_star));
  if (!mapping.is(Kind::kDict)) return TemplateError("argument after ** must be a mapping");
  for (const auto& [key, value] : mapping.dict().entries) {
    if (!key.is(Kind::kString)) return TemplateError("keywords must be strings");
    out->named.emplace_back(key.str(), value);
  }
  return OkStatus();
}

StatusOr<Value> Interpreter::Call(const Value& callee, CallArguments args) {
  switch (callee.kind()) {
    case Kind::kUndefined:
      return UndefinedError(callee);
    case Kind::kFunction:
      return callee.function()->function(rt_, Value::None(), args);
    case Kind::kMethod:
      MF_RETURN_IF_ERROR(StepInput(rt_, callee.method().self));
      return callee.method().def->function(rt_, callee.method().self, args);
    case Kind::kMacro:
      return CallMacro(callee.macro(), std::move(args));
    case Kind::kLoop:
      return CallLoop(callee.loop(), args);
    default:
      return TemplateError(StrCat("'", TypeName(callee), "' object is not callable"));
  }
}

StatusOr<Value> Interpreter::CallMacro(const MacroObject& macro, CallArguments args) {
  ++recursion_;
  const absl::Cleanup leave = [this] { --recursion_; };
  if (recursion_ > rt_.options.limits.max_recursion) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("calls nest ", recursion_, " deep; the limit is ",
                         rt_.options.limits.max_recursion))
        .WithName(macro.statement->data);
  }
  Block block(this, macro.scope);
  MF_RETURN_IF_ERROR(BindParameters(*macro.statement, &args, &block.scope()));
  Capture capture(this);
  MF_RETURN_IF_ERROR(capture.Open());
  MF_RETURN_IF_ERROR(ExecBody(macro.statement->body).status());
  return capture.Finish();
}

Status Interpreter::BindParameters(const Stmt& macro, CallArguments* args, Scope* scope) {
  const size_t count = macro.parameters.size();
  MF_RETURN_IF_ERROR(rt_.Step(count * args->named.size() / 16));
  for (size_t i = 0; i < count; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const std::string& name = program_.names[parameter.name];
    const auto named = std::find_if(args->named.begin(), args->named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (i < args->positional.size()) {
      if (named != args->named.end()) {
        return TemplateError(
            StrCat("macro '", macro.data, "' got multiple values for argument '", name, "'"));
      }
      scope->Set(parameter.name, args->positional[i]);
    } else if (named != args->named.end()) {
      scope->Set(parameter.name, std::move(named->second));
      args->named.erase(named);
    } else if (parameter.default_value != nullptr) {
      MF_ASSIGN_OR_RETURN(Value value, Eval(*parameter.default_value));
      scope->Set(parameter.name, std::move(value));
    } else {
      MF_ASSIGN_OR_RETURN(
          Value value, rt_.make.Undefined(StrCat("parameter '", name, "' was not provided"), name));
      scope->Set(parameter.name, std::move(value));
    }
  }
  return BindSpecialNames(macro, args, count, scope);
}

Status Interpreter::BindSpecialNames(const Stmt& macro, CallArguments* args, size_t first_extra,
                                     Scope* scope) {
  const auto caller = std::find_if(args->named.begin(), args->named.end(),
                                   [](const auto& argument) { return argument.first == "caller"; });
  if (macro.uses_caller) {
    Value value;
    if (caller != args->named.end()) {
      value = std::move(caller->second);
      args->named.erase(caller);
    } else {
      MF_ASSIGN_OR_RETURN(value, rt_.make.Undefined("no caller defined", "caller"));
    }
    scope->Set(kCallerName, std::move(value));
  }
  if (macro.uses_kwargs) {
    DictEntries entries;
    for (auto& [name, value] : args->named) {
      MF_ASSIGN_OR_RETURN(Value key, rt_.make.String(name));
      entries.emplace_back(std::move(key), std::move(value));
    }
    MF_ASSIGN_OR_RETURN(Value kwargs, rt_.make.Dict(std::move(entries)));
    scope->Set(kKwargsName, std::move(kwargs));
  } else if (!args->named.empty()) {
    return TemplateError(
        StrCat("macro '", macro.data, "' takes no keyword argument '", args->named[0].first, "'"));
  }
  std::vector<Value> extra;
  if (args->positional.size() > first_extra) {
    extra.assign(args->positional.begin() + static_cast<ptrdiff_t>(first_extra),
                 args->positional.end());
  }
  if (macro.uses_varargs) {
    MF_ASSIGN_OR_RETURN(Value varargs, rt_.make.Sequence(std::move(extra), SequenceKind::kTuple));
    scope->Set(kVarargsName, std::move(varargs));
  } else if (!extra.empty()) {
    return TemplateError(
        StrCat("macro '", macro.data, "' takes not more than ", first_extra, " argument(s)"));
  }
  return OkStatus();
}

// loop(items) within a recursive loop: the same statement over other items, as text.
StatusOr<Value> Interpreter::CallLoop(const LoopObject& loop, const CallArguments& args) {
  if (loop.statement == nullptr) {
    return TemplateError("the loop must have the 'recursive' marker to be called recursively");
  }
  const Stmt& statement = *loop.statement;
  const int depth0 = loop.depth0 + 1;
  Scope* scope = loop.scope;
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("loop", {"iterable"}, 1, a));
  ++recursion_;
  const absl::Cleanup leave = [this] { --recursion_; };
  if (recursion_ > rt_.options.limits.max_recursion) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("loops nest ", recursion_, " deep; the limit is ",
                         rt_.options.limits.max_recursion))
        .WithName("loop");
  }
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, LoopItems(statement, *a[0], scope));
  Capture capture(this);
  MF_RETURN_IF_ERROR(capture.Open());
  MF_RETURN_IF_ERROR(RunLoop(statement, std::move(items), depth0, scope).status());
  return capture.Finish();
}

}  // namespace minfer::chat
