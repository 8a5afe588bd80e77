// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A model's chat templates, and from a conversation to the tokens of a prompt. Templates are parsed
// when they are first used and kept. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/chat_template.h"
#include "chat/message.h"
#include "engine/model.h"

namespace minfer {

struct ChatPromptRequest {
  std::string template_name;  // of the file; empty: the default one
  std::string template_text;  // used instead of the file's when it is not empty
  ChatRequest chat;           // the tokens' texts are filled in from the model
  RenderOptions options;
};

class ChatPrompt {
 public:
  explicit ChatPrompt(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  bool HasTemplate() const { return TemplateSource({}).ok(); }
  // Borrowed from the model. NOT_FOUND when the file has no template of that name.
  StatusOr<std::string_view> TemplateSource(std::string_view name) const;
  StatusOr<RenderedText> Render(ChatPromptRequest request) const;
  // Control tokens come from the template's own text only, never from what a message says.
  Status Encode(ChatPromptRequest request, std::vector<int32_t>* ids) const;

 private:
  StatusOr<ChatTemplate> Parsed(const ChatPromptRequest& request) const;

  std::shared_ptr<const Model> model_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, ChatTemplate> parsed_;  // by name; guarded by mutex_
};

}  // namespace minfer
