// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Some 570 expressions and small templates over one context, with what Jinja2 makes of them.
#include <iostream>
#include <string>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

constexpr int64_t kNow = 1767323045;  // 2026-01-02 03:04:05

// The object after "context": as it stands in the file; a JSON library would shorten its big
// integer.
std::string ContextText(const std::string& file) {
  const std::string key = "\"context\": ";
  const size_t begin = file.find(key) + key.size();
  return file.substr(begin, file.find(",\n\"cases\"", begin) - begin);
}

TEST_CASE("ChatTemplate: evaluates expressions as Python does", "[chat]") {
  const std::string file = testing::ReadFile(testing::TestDataPath("chat_expressions.json"));
  const nlohmann::json data = nlohmann::json::parse(file);
  const StatusOr<chat::Variables> variables = VariablesFromJson(ContextText(file), "context");
  MF_REQUIRE_OK(variables);
  RenderOptions options;
  options.now = kNow;
  size_t texts = 0;
  size_t errors = 0;
  for (const auto& test : data["cases"]) {
    const std::string source = test["template"];
    INFO(source);
    const StatusOr<ChatTemplate> parsed = ChatTemplate::Parse(source);
    const StatusOr<RenderedText> got =
        parsed.ok() ? parsed->Render(*variables, options) : StatusOr<RenderedText>(parsed.status());
    INFO(got.status().ToString());
    if (test.contains("text")) {
      REQUIRE(got.ok());
      CHECK(got->text == test["text"].get<std::string>());
      ++texts;
    } else {
      INFO(test["error"].get<std::string>());
      REQUIRE_FALSE(got.ok());
      CHECK_FALSE(got.status().name().empty());
      ++errors;
    }
  }
  std::cout << "chat expressions: " << texts << " texts, " << errors << " errors\n";
  CHECK(texts == 489);
  CHECK(errors == 85);
}

}  // namespace
}  // namespace minfer
