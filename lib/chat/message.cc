// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/message.h"

#include <utility>

#include "base/str_cat.h"
#include "chat/continuation.h"
#include "chat/json.h"
#include "chat/value.h"

namespace minfer {
namespace {

using chat::DictEntries;
using chat::Kind;
using chat::Value;

constexpr chat::ValueFactory kMake(nullptr);

Status NotObject(std::string_view what) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kChat,
                StrCat(what, " must be a JSON object"))
      .WithName(what);
}

// A copy of the mapping with one field replaced.
StatusOr<Value> WithField(const Value& dict, std::string_view name, const Value& replacement) {
  DictEntries entries = dict.dict().entries;
  for (auto& [key, value] : entries) {
    if (key.is(Kind::kString) && key.str() == name) value = replacement;
  }
  return kMake.Dict(std::move(entries));
}

// One tool call with its arguments as an object where they were the text of one.
StatusOr<Value> WithParsedArguments(const Value& call) {
  if (!call.is(Kind::kDict)) return call;
  const Value* function = call.dict().Find("function");
  const bool nested = function != nullptr && function->is(Kind::kDict);
  const Value& holder = nested ? *function : call;
  const Value* arguments = holder.dict().Find("arguments");
  if (arguments == nullptr || !arguments->is(Kind::kString)) return call;
  const bool from_content = arguments->text().any_from_content();
  StatusOr<Value> parsed = chat::ValueFromJson(arguments->str(), "arguments", from_content);
  if (!parsed.ok() || !parsed->is(Kind::kDict)) return call;
  MF_ASSIGN_OR_RETURN(Value changed, WithField(holder, "arguments", *parsed));
  return nested ? WithField(call, "function", changed) : std::move(changed);
}

StatusOr<Value> WithParsedCalls(const Value& calls) {
  if (!calls.is_list()) return calls;
  std::vector<Value> items;
  for (const Value& call : calls.items()) {
    MF_ASSIGN_OR_RETURN(Value item, WithParsedArguments(call));
    items.push_back(std::move(item));
  }
  return kMake.Sequence(std::move(items));
}

StatusOr<Value> MessageValue(const ChatMessage& message, size_t index) {
  DictEntries entries;
  const auto add = [&](std::string_view name, const std::string& text) -> Status {
    MF_ASSIGN_OR_RETURN(Value key, kMake.String(chat::Text(std::string(name), true)));
    MF_ASSIGN_OR_RETURN(Value value, kMake.String(chat::Text(text, true)));
    entries.emplace_back(std::move(key), std::move(value));
    return OkStatus();
  };
  MF_RETURN_IF_ERROR(add("role", message.role));
  MF_RETURN_IF_ERROR(add("content", message.content));
  if (message.fields_json.empty()) return kMake.Dict(std::move(entries));
  const std::string what = StrCat("fields of message ", index);
  MF_ASSIGN_OR_RETURN(const Value fields, chat::ValueFromJson(message.fields_json, what, true));
  if (!fields.is(Kind::kDict)) return NotObject(what);
  for (const auto& [key, value] : fields.dict().entries) {
    if (key.str() == "tool_calls") {
      MF_ASSIGN_OR_RETURN(Value calls, WithParsedCalls(value));
      entries.emplace_back(key, std::move(calls));
    } else {
      entries.emplace_back(key, value);
    }
  }
  return kMake.Dict(std::move(entries));
}

}  // namespace

StatusOr<chat::Variables> VariablesFromJson(std::string_view json, std::string_view what) {
  MF_ASSIGN_OR_RETURN(const Value own, chat::ValueFromJson(json, what, false));
  if (!own.is(Kind::kDict)) return NotObject(what);
  MF_ASSIGN_OR_RETURN(const Value content, chat::ValueFromJson(json, what, true));
  chat::Variables variables;
  for (const auto& [key, value] : own.dict().entries) {
    const std::string& name = key.str();
    const bool is_content = name == "messages" || name == "tools" || name == "documents";
    variables.emplace_back(name, is_content ? *content.dict().Find(name) : value);
  }
  return variables;
}

namespace {

StatusOr<RenderedText> RenderWhole(const ChatTemplate& chat_template, const ChatRequest& request,
                                   const RenderOptions& options) {
  chat::Variables variables;
  if (!request.variables_json.empty()) {
    MF_ASSIGN_OR_RETURN(variables, VariablesFromJson(request.variables_json, "variables"));
  }
  const auto add_string = [&](std::string_view name, const std::string& text) -> Status {
    MF_ASSIGN_OR_RETURN(Value value, kMake.String(text));
    variables.emplace_back(name, std::move(value));
    return OkStatus();
  };
  MF_RETURN_IF_ERROR(add_string("bos_token", request.bos_token));
  MF_RETURN_IF_ERROR(add_string("eos_token", request.eos_token));
  if (!request.tools_json.empty()) {
    MF_ASSIGN_OR_RETURN(Value tools, chat::ValueFromJson(request.tools_json, "tools", true));
    variables.emplace_back("tools", std::move(tools));
  }
  std::vector<Value> messages;
  for (size_t i = 0; i < request.messages.size(); ++i) {
    MF_ASSIGN_OR_RETURN(Value message, MessageValue(request.messages[i], i));
    messages.push_back(std::move(message));
  }
  MF_ASSIGN_OR_RETURN(Value list, kMake.Sequence(std::move(messages)));
  variables.emplace_back("messages", std::move(list));
  variables.emplace_back("add_generation_prompt", Value::Bool(request.add_generation_prompt));
  return chat_template.Render(variables, options);
}

}  // namespace

StatusOr<RenderedText> RenderMessages(const ChatTemplate& chat_template, const ChatRequest& request,
                                      const RenderOptions& options) {
  if (!request.continue_last) return RenderWhole(chat_template, request, options);
  if (request.messages.empty()) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kChat,
                  "there is no last message to continue")
        .WithName("messages");
  }
  const std::string mark = chat::UnusedMark(request);
  ChatRequest marked = request;
  marked.messages.back().content += mark;
  marked.add_generation_prompt = false;
  MF_ASSIGN_OR_RETURN(const RenderedText whole, RenderWhole(chat_template, marked, options));
  return chat::CutAtMark(whole, mark);
}

}  // namespace minfer
