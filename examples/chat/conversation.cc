// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "conversation.h"

#include <utility>

namespace chat {

Conversation::Conversation(const mf::Model* model, mf::Session* session, ConversationSetup setup)
    : model_(model),
      session_(session),
      setup_(std::move(setup)),
      has_template_(!setup_.template_text.empty() ||
                    mf_model_can(model->get(), MF_CAPABILITY_CHAT) != 0) {
  if (!setup_.system.empty()) messages_.push_back({"system", setup_.system});
  n_system_ = messages_.size();
}

mf_session_statistics Conversation::Statistics() const {
  mf_session_statistics statistics = MF_SESSION_STATISTICS_INIT;
  mf_session_get_statistics(session_->get(), &statistics, nullptr);
  return statistics;
}

// Brings the session to these tokens. What it has in common with them is kept; the last token is
// always run, for its logits.
mf::Result<void> Conversation::FeedTokens(const std::vector<mf_token>& tokens) {
  mf::Error error;
  std::vector<mf_token> present(session_->position());
  size_t n_present = 0;
  if (mf_session_tokens(session_->get(), present.data(), present.size(), &n_present, error.out()) !=
      MF_STATUS_OK) {
    return error;
  }
  size_t same = 0;
  while (same < n_present && same + 1 < tokens.size() && tokens[same] == present[same]) ++same;
  mf::Result<void> done = session_->truncate(static_cast<uint32_t>(same));
  if (!done) return done;
  return session_->feed(
      std::vector<mf_token>(tokens.begin() + static_cast<ptrdiff_t>(same), tokens.end()));
}

void Conversation::Describe(const std::vector<mf::Message>& messages,
                            std::vector<mf_chat_message>* list, mf_chat_options* options) const {
  const auto add = [list](std::string_view role, std::string_view content) {
    mf_chat_message one = MF_CHAT_MESSAGE_INIT;
    one.role = {role.data(), role.size()};
    one.content = {content.data(), content.size()};
    list->push_back(one);
  };
  for (const mf::Message& message : messages) add(message.role, message.content);
  *options = MF_CHAT_OPTIONS_INIT;
  options->template_text = {setup_.template_text.data(), setup_.template_text.size()};
  if (setup_.answer_start.empty()) return;
  add("assistant", setup_.answer_start);
  options->continue_last = 1;
}

mf::Result<std::string> Conversation::Prompt(const std::string& question) const {
  if (!has_template_) return question + setup_.answer_start;
  std::vector<mf::Message> messages = messages_;
  messages.push_back({"user", question});
  std::vector<mf_chat_message> list;
  mf_chat_options options;
  Describe(messages, &list, &options);
  mf::Error error;
  std::string text;
  size_t length = 0;
  // First with no room, which tells the length; then again.
  for (int pass = 0; pass < 2; ++pass) {
    text.resize(length);
    if (mf_chat_render(model_->get(), list.data(), list.size(), &options,
                       length > 0 ? text.data() : nullptr, length, &length,
                       error.out()) != MF_STATUS_OK) {
      return error;
    }
  }
  return text;
}

mf::Result<void> Conversation::FeedConversation() {
  if (!has_template_) {
    // Nothing says how this model was trained to converse: its text is simply continued.
    return session_->feed(messages_.back().content + setup_.answer_start,
                          session_->position() == 0 ? MF_ENCODE_ADD_SPECIAL : 0);
  }
  std::vector<mf_chat_message> messages;
  mf_chat_options options;
  Describe(messages_, &messages, &options);
  mf::Error error;
  std::vector<mf_token> tokens;
  size_t count = 0;
  // First with no room, which tells the number; then again.
  for (int pass = 0; pass < 2; ++pass) {
    tokens.resize(count);
    if (mf_chat_encode(model_->get(), messages.data(), messages.size(), &options,
                       count > 0 ? tokens.data() : nullptr, count, &count,
                       error.out()) != MF_STATUS_OK) {
      return error;
    }
  }
  return FeedTokens(tokens);
}

Answer Conversation::Ask(const std::string& question, const mf_generate_options& options,
                         const TextSink& sink) {
  Answer answer;
  messages_.push_back({"user", question});
  const mf_session_statistics before = Statistics();
  mf::Result<void> fed = FeedConversation();
  if (fed) {
    answer.text = setup_.answer_start;
    if (!answer.text.empty()) sink(answer.text.data(), answer.text.size());
    mf::Result<mf_generate_result> result = session_->generate(
        [&](std::string_view text) {
          answer.text.append(text);
          sink(text.data(), text.size());
        },
        &options);
    if (result) {
      answer.finish = result->finish;
    } else {
      answer.status = result.error().status();
      answer.message = result.error().message();
    }
  } else {
    answer.status = fed.error().status();
    answer.message = fed.error().message();
  }
  const mf_session_statistics after = Statistics();
  answer.n_prompt_tokens = after.n_prompt_tokens - before.n_prompt_tokens;
  answer.n_tokens = after.n_generated_tokens - before.n_generated_tokens;
  answer.prompt_seconds = static_cast<double>(after.prompt_time_ns - before.prompt_time_ns) * 1e-9;
  answer.seconds = static_cast<double>(after.generate_time_ns - before.generate_time_ns) * 1e-9;
  if (answer.text.size() == (fed ? setup_.answer_start.size() : 0)) {
    messages_.pop_back();
  } else {
    messages_.push_back({"assistant", answer.text});
  }
  return answer;
}

mf::Result<void> Conversation::Reset() {
  messages_.resize(n_system_);
  return session_->truncate(0);
}

}  // namespace chat
