// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A chat template: parsed once, rendered from any thread. The language is the part of Jinja that
// published chat templates use, set up as they expect it (trim_blocks, lstrip_blocks, break and
// continue, generation blocks, raise_exception, strftime_now, tojson), with nothing of the host in
// reach. Errors have the subsystem kChat, the construct as name and "line N: " before the message;
// the text given to raise_exception is passed on as it is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "chat/limits.h"
#include "chat/value.h"

namespace minfer {

namespace chat {
struct Program;
using Variables = std::vector<std::pair<std::string, Value>>;
}  // namespace chat

// A stretch of the rendered text. Content is what came from messages, tools and documents: control
// tokens written there are plain text, and only those in the template's own stretches are special.
struct RenderedSegment {
  size_t begin = 0;
  size_t end = 0;
  bool from_content = false;
};

struct RenderedText {
  std::string text;
  std::vector<RenderedSegment>
      segments;  // ascending, covering the text; neighbours differ in origin
};

class ChatTemplate {
 public:
  // INVALID_ARGUMENT for a syntax error, UNIMPLEMENTED for what the language has and this does not,
  // RESOURCE_EXHAUSTED for a source that is too long or nests too deep.
  static StatusOr<ChatTemplate> Parse(std::string_view source, const TemplateLimits& limits = {});

  StatusOr<RenderedText> Render(const chat::Variables& variables,
                                const RenderOptions& options = {}) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const chat::Program> program);

  std::shared_ptr<const chat::Program> program_;
};

}  // namespace minfer
