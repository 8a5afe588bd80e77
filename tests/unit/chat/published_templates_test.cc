// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Published templates over recorded conversations, byte for byte.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

using testing::ReadFile;

constexpr size_t kTemplates = 46;
constexpr size_t kConversations = 11;
constexpr size_t kPythonErrors = 32;
constexpr int64_t kNow = 1767323045;  // 2026-01-02 03:04:05

struct Counts {
  size_t cells = 0;
  size_t equal_texts = 0;
  size_t template_errors = 0;
  size_t python_errors = 0;
};

StatusOr<RenderedText> RenderCell(const std::string& source, const std::string& context) {
  MF_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  MF_ASSIGN_OR_RETURN(const chat::Variables variables, VariablesFromJson(context, "context"));
  RenderOptions options;
  options.now = kNow;
  return parsed.Render(variables, options);
}

bool NamesConstructAndLine(const Status& status) {
  return !status.name().empty() && status.message().starts_with("line ");
}

void CheckCell(const nlohmann::json& wanted, const StatusOr<RenderedText>& got, Counts* counts) {
  ++counts->cells;
  if (wanted.contains("text")) {
    INFO(got.status().ToString());
    REQUIRE(got.ok());
    CHECK(got->text == wanted["text"].get<std::string>());
    if (got->text == wanted["text"].get<std::string>()) ++counts->equal_texts;
    return;
  }
  REQUIRE_FALSE(got.ok());
  const Status status = got.status();
  INFO(status.ToString());
  CHECK(status.subsystem() == Subsystem::kChat);
  if (wanted.contains("raised")) {
    // What the template raises reaches the caller as it is.
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message() == wanted["raised"].get<std::string>());
    if (status.message() == wanted["raised"].get<std::string>()) ++counts->template_errors;
  } else {
    INFO(wanted["error"].get<std::string>());
    CHECK(NamesConstructAndLine(status));
    if (NamesConstructAndLine(status)) ++counts->python_errors;
  }
}

TEST_CASE("ChatTemplate: renders the published templates byte for byte", "[chat]") {
  const auto folder = testing::SharedDataPath("chat");
  if (!folder) return;
  const auto conversations = nlohmann::ordered_json::parse(ReadFile(*folder + "/cases.json"));
  Counts counts;
  size_t templates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    if (entry.path().extension() != ".jinja") continue;
    ++templates;
    const std::string source = ReadFile(entry.path().string());
    std::filesystem::path expected = entry.path();
    const auto wanted = testing::ReadJson(expected.replace_extension(".expected.json").string());
    for (const auto& [name, context] : conversations.items()) {
      INFO(entry.path().stem().string() << " / " << name);
      REQUIRE(wanted.contains(name));
      CheckCell(wanted[name], RenderCell(source, context.dump()), &counts);
    }
  }
  std::cout << "chat templates: " << counts.equal_texts << " texts equal, "
            << counts.template_errors << " errors of the template equal, " << counts.python_errors
            << " errors named, of " << counts.cells << " cells\n";
  CHECK(templates == kTemplates);
  CHECK(counts.cells == kTemplates * kConversations);
  CHECK(counts.python_errors == kPythonErrors);
  CHECK(counts.equal_texts + counts.template_errors + counts.python_errors == counts.cells);
}

// The recorded conversation as a host hands it over: what messages have beside role and content is
// JSON, and so are the tools and further variables (enable_thinking).
ChatRequest RequestOf(const nlohmann::ordered_json& conversation) {
  ChatRequest request;
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  for (const auto& [key, value] : conversation.items()) {
    if (key == "bos_token") {
      request.bos_token = value.get<std::string>();
    } else if (key == "eos_token") {
      request.eos_token = value.get<std::string>();
    } else if (key == "add_generation_prompt") {
      request.add_generation_prompt = value.get<bool>();
    } else if (key == "tools") {
      request.tools_json = value.dump();
    } else if (key != "messages") {
      variables[key] = value;
    }
  }
  if (!variables.empty()) request.variables_json = variables.dump();
  for (nlohmann::ordered_json message : conversation.at("messages")) {
    ChatMessage one;
    one.role = message.at("role").get<std::string>();
    message.erase("role");
    if (message.contains("content") && message["content"].is_string()) {
      one.content = message["content"].get<std::string>();
      message.erase("content");
    }
    if (!message.empty()) one.fields_json = message.dump();
    request.messages.push_back(one);
  }
  return request;
}

StatusOr<RenderedText> RenderRequest(const std::string& source, const ChatRequest& request) {
  MF_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  RenderOptions options;
  options.now = kNow;
  return RenderMessages(parsed, request, options);
}

TEST_CASE("RenderMessages: gives the recorded texts with tools, thoughts and begun answers",
          "[chat]") {
  const auto folder = testing::SharedDataPath("chat");
  if (!folder) return;
  const auto conversations = nlohmann::ordered_json::parse(ReadFile(*folder + "/cases.json"));
  Counts counts;
  size_t continued = 0;
  size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    if (entry.path().extension() != ".jinja") continue;
    const std::string source = ReadFile(entry.path().string());
    std::filesystem::path expected = entry.path();
    const auto wanted = testing::ReadJson(expected.replace_extension(".expected.json").string());
    for (const auto& [name, context] : conversations.items()) {
      INFO(entry.path().stem().string() << " / " << name);
      CheckCell(wanted[name], RenderRequest(source, RequestOf(context)), &counts);
    }
    // A begun answer is a prefix of the whole one.
    ChatRequest begun = RequestOf(conversations.at("assistant_last"));
    begun.continue_last = true;
    const StatusOr<RenderedText> prompt = RenderRequest(source, begun);
    if (!prompt.ok()) {
      ++refused;
      continue;
    }
    ++continued;
    INFO(entry.path().stem().string() << ": " << prompt->text);
    CHECK(wanted["assistant_last"].at("text").get<std::string>().starts_with(prompt->text));
    CHECK(prompt->text.ends_with(begun.messages.back().content));
  }
  std::cout << "chat requests: " << counts.equal_texts << " texts equal of " << counts.cells
            << "; answers continued by " << continued << " templates, refused by " << refused
            << "\n";
  CHECK(counts.cells == kTemplates * kConversations);
  CHECK(continued + refused == kTemplates);
  CHECK(continued >= 45);
}

}  // namespace
}  // namespace minfer
