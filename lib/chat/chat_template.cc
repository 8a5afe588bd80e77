// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/chat_template.h"

#include <utility>

#include "base/str_cat.h"
#include "chat/interpreter.h"
#include "chat/lexer.h"
#include "chat/parser.h"

namespace minfer {

ChatTemplate::ChatTemplate(std::shared_ptr<const chat::Program> program)
    : program_(std::move(program)) {}

StatusOr<ChatTemplate> ChatTemplate::Parse(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.max_template_bytes) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("a template of ", source.size(), " bytes is too long; the limit is ",
                         limits.max_template_bytes))
        .WithName("template")
        .WithBytes(source.size(), limits.max_template_bytes);
  }
  MF_ASSIGN_OR_RETURN(std::vector<chat::Token> tokens, chat::Tokenize(source));
  chat::Parser parser(std::move(tokens), limits.max_nesting);
  MF_ASSIGN_OR_RETURN(chat::Program program, parser.Parse());
  return ChatTemplate(std::make_shared<const chat::Program>(std::move(program)));
}

StatusOr<RenderedText> ChatTemplate::Render(const chat::Variables& variables,
                                            const RenderOptions& options) const {
  chat::Interpreter interpreter(*program_, options);
  MF_ASSIGN_OR_RETURN(const chat::Text text, interpreter.Run(variables));
  RenderedText rendered;
  rendered.text = text.bytes();
  rendered.segments.reserve(text.runs().size());
  size_t begin = 0;
  for (const chat::TextRun& run : text.runs()) {
    rendered.segments.push_back({begin, run.end, run.from_content});
    begin = run.end;
  }
  return rendered;
}

}  // namespace minfer
