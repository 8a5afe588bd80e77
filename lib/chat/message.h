// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// From a host's messages to the text of a prompt, through the model's own template. Nothing is
// added that the template does not write: no BOS, no system message, no generation prompt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/chat_template.h"

namespace minfer {

struct ChatMessage {
  std::string role;
  std::string content;
  // A JSON object whose fields are added to the message: tool_calls, name, reasoning_content, or a
  // content that is null or a list of parts. They replace role and content where they name them.
  // Arguments of tool_calls given as a string that holds a JSON object reach the template as that
  // object, the form that published templates expect.
  std::string fields_json;
};

struct ChatRequest {
  std::vector<ChatMessage> messages;
  std::string tools_json;  // a JSON list; empty: the template sees no "tools"
  std::string
      variables_json;  // a JSON object of further variables; a "documents" counts as content
  std::string bos_token;
  std::string eos_token;
  bool add_generation_prompt = true;
  // The text ends with the content of the last message, which the answer goes on with. Nothing
  // asks for a new message then.
  bool continue_last = false;
};

StatusOr<RenderedText> RenderMessages(const ChatTemplate& chat_template, const ChatRequest& request,
                                      const RenderOptions& options = {});

// The fields of a JSON object as variables. Those called messages, tools and documents are content.
StatusOr<chat::Variables> VariablesFromJson(std::string_view json, std::string_view what);

}  // namespace minfer
