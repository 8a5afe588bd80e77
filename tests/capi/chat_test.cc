// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Conversations with tools, thoughts and begun answers through the header.
#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

mf_text Text(const std::string& text) { return {text.data(), text.size()}; }

struct Message {
  std::string role;
  std::string content;
  std::string extra;
};

// In the manner of published templates for models that think and call tools.
const char kTemplate[] = R"({%- if tools %}<tools>{% for t in tools %}{{ t.function.name }};
{%- endfor %}</tools>{% endif %}
{%- for m in messages -%}
<{{ m.role }}>
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content if m.content else '' }}
{%- for c in m.tool_calls or [] %}<call>{{ c.function.name }}({{ c.function.arguments.city }})
{%- endfor %}</{{ m.role }}>
{%- endfor %}
{%- if add_generation_prompt %}<assistant>{% if not enable_thinking %}<think></think>{% endif %}
{%- endif %})";

class ChatText {
 public:
  ChatText() : model_(LoadModel()) { options_.template_text = Text(source_); }

  mf_chat_options& options() { return options_; }
  const mf_error& error() const { return error_; }

  mf_status Render(const std::vector<Message>& messages, std::string* text) {
    const std::vector<mf_chat_message> list = List(messages);
    size_t length = 0;
    mf_status status = mf_chat_render(model_.get(), list.data(), list.size(), &options_, nullptr, 0,
                                      &length, &error_);
    if (status != MF_STATUS_OK) return status;
    // The length first, then one byte short of it, then the text (C24).
    text->assign(length, '#');
    CHECK(mf_chat_render(model_.get(), list.data(), list.size(), &options_, text->data(),
                         length - 1, &length, &error_) == MF_STATUS_OUT_OF_RANGE);
    CHECK(*text == std::string(length, '#'));
    return mf_chat_render(model_.get(), list.data(), list.size(), &options_, text->data(), length,
                          &length, &error_);
  }

  std::vector<mf_token> Encode(const std::vector<Message>& messages) {
    const std::vector<mf_chat_message> list = List(messages);
    std::vector<mf_token> tokens(1000);
    size_t count = 0;
    mf_error error = {};
    CAPI_REQUIRE_OK(mf_chat_encode(model_.get(), list.data(), list.size(), &options_, tokens.data(),
                                   tokens.size(), &count, &error));
    tokens.resize(count);
    return tokens;
  }

  std::string Decode(const std::vector<mf_token>& tokens) {
    std::string text(4000, ' ');
    size_t length = 0;
    mf_error error = {};
    CAPI_REQUIRE_OK(mf_tokenizer_decode(model_.get(), tokens.data(), tokens.size(),
                                        MF_DECODE_SPECIAL, text.data(), text.size(), &length,
                                        &error));
    text.resize(length);
    return text;
  }

 private:
  static std::vector<mf_chat_message> List(const std::vector<Message>& messages) {
    std::vector<mf_chat_message> list;
    for (const Message& message : messages) {
      mf_chat_message one = MF_CHAT_MESSAGE_INIT;
      one.role = Text(message.role);
      one.content = Text(message.content);
      one.extra_json = Text(message.extra);
      list.push_back(one);
    }
    return list;
  }

  Model model_;
  std::string source_ = kTemplate;
  mf_chat_options options_ = MF_CHAT_OPTIONS_INIT;
  mf_error error_ = {};
};

const std::vector<Message> kToolTurns = {
    {"user", "Weather?", ""},
    {"assistant", "",
     R"({"content": null, "reasoning_content": "look it up", "tool_calls": [{"type": "function",
         "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]})"},
    {"tool", "rain", R"({"tool_call_id": "1"})"},
};

TEST_CASE("Chat: tools, tool calls and thoughts reach the template (C13, C15, C19, C24)",
          "[capi]") {
  ChatText chat;
  const std::string tools = R"([{"type": "function", "function": {"name": "weather"}}])";
  chat.options().tools_json = Text(tools);
  std::string text;
  REQUIRE(chat.Render(kToolTurns, &text) == MF_STATUS_OK);
  CHECK(text ==
        "<tools>weather;</tools><user>Weather?</user>"
        "<assistant><think>look it up</think><call>weather(Oslo)</assistant>"
        "<tool>rain</tool><assistant><think></think>");
  const std::string thinking = R"({"enable_thinking": true})";
  chat.options().variables_json = Text(thinking);
  REQUIRE(chat.Render({kToolTurns[0]}, &text) == MF_STATUS_OK);
  CHECK(text == "<tools>weather;</tools><user>Weather?</user><assistant>");
  chat.options().no_generation_prompt = 1;
  REQUIRE(chat.Render({kToolTurns[0]}, &text) == MF_STATUS_OK);
  CHECK(text == "<tools>weather;</tools><user>Weather?</user>");
}

TEST_CASE("Chat: the prompt ends inside of an answer that the host has begun (C27)", "[capi]") {
  ChatText chat;
  chat.options().continue_last = 1;
  std::string text;
  const std::vector<Message> begun = {
      {"user", "Capital?", ""},
      {"assistant", "It is ", R"({"reasoning_content": "easy"})"},
  };
  REQUIRE(chat.Render(begun, &text) == MF_STATUS_OK);
  CHECK(text == "<user>Capital?</user><assistant><think>easy</think>It is ");
  // The tokens are those of that text, nothing before or after it.
  CHECK(chat.Decode(chat.Encode(begun)).ends_with("It is "));
  // A message without content that could be continued.
  CHECK(chat.Render({kToolTurns[1]}, &text) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(chat.error().name) == "messages");
  CHECK(chat.Render({}, &text) == MF_STATUS_INVALID_ARGUMENT);
  chat.options().continue_last = 2;
  CHECK(chat.Render(begun, &text) == MF_STATUS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace capi_test
