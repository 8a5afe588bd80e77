// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A conversation: its messages, and the session that has computed most of them already.
#pragma once

#include <minfer/minfer.hpp>

#include <functional>
#include <string>
#include <vector>

namespace chat {

struct Answer {
  mf_status status = MF_STATUS_OK;
  std::string message;  // what went wrong, when the status is not OK
  std::string text;
  mf_finish finish = MF_FINISH_NONE;
  // Of this turn.
  uint64_t n_prompt_tokens = 0;
  uint64_t n_tokens = 0;
  double prompt_seconds = 0.0;
  double seconds = 0.0;
};

struct ConversationSetup {
  std::string system;         // the system message; empty: none
  std::string template_text;  // used instead of the model's own; empty: that one
  std::string answer_start;   // what every answer begins with
};

using TextSink = std::function<void(const char* text, size_t length)>;

// The model and the session must outlive it.
class Conversation {
 public:
  Conversation(const mf::Model* model, mf::Session* session, ConversationSetup setup);

  // Adds the user's message and generates the answer. A cancelled answer stays in the conversation
  // as far as it came; a turn that gave no text is taken back whole.
  Answer Ask(const std::string& question, const mf_generate_options& options, const TextSink& sink);
  // Whether there is a template to converse by. Without one the question's text is continued.
  bool has_template() const { return has_template_; }
  // The text that the model would be given for this question.
  mf::Result<std::string> Prompt(const std::string& question) const;
  // Forgets all but the system message.
  mf::Result<void> Reset();

 private:
  mf::Result<void> FeedConversation();
  // The messages in the header's form, the begun answer included, and how to render them. They
  // point into `messages`.
  void Describe(const std::vector<mf::Message>& messages, std::vector<mf_chat_message>* list,
                mf_chat_options* options) const;
  mf::Result<void> FeedTokens(const std::vector<mf_token>& tokens);
  mf_session_statistics Statistics() const;

  const mf::Model* model_;
  mf::Session* session_;
  ConversationSetup setup_;
  std::vector<mf::Message> messages_;
  size_t n_system_;
  bool has_template_;
};

}  // namespace chat
