// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/runtime.h"

#include <algorithm>

#include "base/str_cat.h"
#include "chat/print.h"

namespace minfer::chat {

Status Runtime::StepsExceeded() const {
  return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                StrCat("the template takes more than ", options.limits.max_steps, " steps"))
      .WithName("steps");
}

TextBuilder Runtime::NewText() const {
  return TextBuilder(std::min(options.limits.max_output_bytes, heap.available()));
}

StatusOr<Text> Runtime::FinishText(TextBuilder builder) {
  if (builder.full()) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("a text of ", builder.wanted(), " bytes or more is too long; ",
                         builder.limit(), " are left"))
        .WithName("output")
        .WithBytes(builder.wanted(), builder.limit());
  }
  MF_RETURN_IF_ERROR(StepBytes(builder.text().size()));
  return builder.Take();
}

StatusOr<Value> Runtime::Finish(TextBuilder builder, bool markup) {
  MF_ASSIGN_OR_RETURN(Text text, FinishText(std::move(builder)));
  return make.String(std::move(text), markup);
}

Status Runtime::CheckRoom(size_t bytes) const {
  const size_t room = std::min(options.limits.max_output_bytes, heap.available());
  if (bytes <= room) return OkStatus();
  return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                StrCat("a value of ", bytes, " bytes is too large; ", room, " are left"))
      .WithName("memory")
      .WithBytes(bytes, room);
}

StatusOr<Value> Runtime::NewString(std::string bytes, bool from_content) {
  MF_RETURN_IF_ERROR(StepBytes(bytes.size()));
  return make.String(Text(std::move(bytes), from_content));
}

StatusOr<Text> Runtime::Str(const Value& value) {
  if (value.is(Kind::kString)) {
    MF_RETURN_IF_ERROR(StepBytes(value.text().size()));
    return value.text();
  }
  TextBuilder out = NewText();
  AppendStr(value, &out);
  return FinishText(std::move(out));
}

Status CallArguments::Bind(std::string_view function, std::initializer_list<std::string_view> names,
                           size_t required, const Value** out) const {
  if (positional.size() > names.size()) {
    return TemplateError(StrCat(function, "() takes at most ", names.size(), " arguments, ",
                                positional.size(), " given"));
  }
  std::fill(out, out + names.size(), nullptr);
  for (size_t i = 0; i < positional.size(); ++i) out[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto it = std::find(names.begin(), names.end(), std::string_view(name));
    if (it == names.end()) {
      return TemplateError(StrCat(function, "() got an unexpected keyword argument '", name, "'"));
    }
    const Value*& place = out[it - names.begin()];
    if (place != nullptr) {
      return TemplateError(StrCat(function, "() got multiple values for argument '", name, "'"));
    }
    place = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (out[i] == nullptr) {
      return TemplateError(
          StrCat(function, "() missing required argument '", names.begin()[i], "'"));
    }
  }
  return OkStatus();
}

StatusOr<int64_t> IntArgument(const Value* argument, int64_t fallback) {
  if (argument == nullptr || argument->is(Kind::kNone)) return fallback;
  if (argument->is(Kind::kInt)) return argument->integer();
  if (argument->is(Kind::kBool)) return argument->boolean() ? 1 : 0;
  return TemplateError(
      StrCat("'", TypeName(*argument), "' object cannot be interpreted as an integer"));
}

bool BoolArgument(const Value* argument, bool fallback) {
  return argument == nullptr ? fallback : IsTrue(*argument);
}

}  // namespace minfer::chat
