// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "chat/continuation.h"

#include <algorithm>
#include <string_view>

#include "base/str_cat.h"

namespace minfer::chat {
namespace {

bool Contains(const ChatRequest& request, const std::string& mark) {
  const auto has = [&mark](const std::string& text) {
    return text.find(mark) != std::string::npos;
  };
  return has(request.tools_json) || has(request.variables_json) || has(request.bos_token) ||
         has(request.eos_token) ||
         std::any_of(request.messages.begin(), request.messages.end(),
                     [&has](const ChatMessage& message) {
                       return has(message.role) || has(message.content) || has(message.fields_json);
                     });
}

// Appends a stretch, joined to the one before where they are of one origin.
void Append(std::string_view text, bool from_content, RenderedText* out) {
  if (text.empty()) return;
  const size_t begin = out->text.size();
  out->text += text;
  if (!out->segments.empty() && out->segments.back().from_content == from_content) {
    out->segments.back().end = out->text.size();
  } else {
    out->segments.push_back({begin, out->text.size(), from_content});
  }
}

}  // namespace

std::string UnusedMark(const ChatRequest& request) {
  // Between characters that Unicode keeps from all texts. A number that no part of the request has
  // is found after as many tries as it has such marks, at most.
  for (uint64_t number = 0;; ++number) {
    std::string mark = StrCat("\uFDD0", number, "\uFDD1");
    if (!Contains(request, mark)) return mark;
  }
}

StatusOr<RenderedText> CutAtMark(const RenderedText& rendered, const std::string& mark) {
  const std::string_view text = rendered.text;
  const size_t cut = text.rfind(mark);
  if (cut == std::string_view::npos) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kChat,
                  "the template does not write the last message's content as it is, so that the "
                  "message cannot be continued")
        .WithName("messages");
  }
  RenderedText result;
  size_t position = 0;
  size_t next_mark = text.find(mark);
  for (const RenderedSegment& segment : rendered.segments) {
    const size_t end = std::min(segment.end, cut);
    while (position < end) {
      const size_t stop = std::min(end, next_mark);
      Append(text.substr(position, stop - position), segment.from_content, &result);
      position = stop;
      if (position == next_mark && position < end) {
        position += mark.size();
        next_mark = text.find(mark, position);
      }
    }
  }
  return result;
}

}  // namespace minfer::chat
