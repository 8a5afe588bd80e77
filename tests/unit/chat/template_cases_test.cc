// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The cases of tests/data/template_cases.json: public failures of programs that render chat
// templates, each with the text that Jinja2 gives.
#include <iostream>
#include <string>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

constexpr int64_t kNow = 1741356309;  // 2025-03-07 14:05:09
constexpr size_t kCases = 53;

StatusOr<RenderedText> RenderCase(const nlohmann::ordered_json& test) {
  MF_ASSIGN_OR_RETURN(const ChatTemplate parsed,
                      ChatTemplate::Parse(test["template"].get<std::string>()));
  MF_ASSIGN_OR_RETURN(const chat::Variables variables,
                      VariablesFromJson(test["context"].dump(), "context"));
  RenderOptions options;
  options.now = kNow;
  return parsed.Render(variables, options);
}

// Each entry names its case: A57, B20, C01, C06 to C13, C15 to C17, C20, C22, C23.
TEST_CASE("ChatTemplate: gives the text or the error of the recorded cases (C01-C23)", "[chat]") {
  const auto cases = nlohmann::ordered_json::parse(
      testing::ReadFile(testing::TestDataPath("template_cases.json")));
  size_t texts = 0;
  size_t errors = 0;
  size_t bounded = 0;
  for (const auto& test : cases) {
    INFO(test["name"].get<std::string>());
    const std::string expect = test["expect"];
    const StatusOr<RenderedText> got = RenderCase(test);
    INFO(got.status().ToString());
    if (expect == "text") {
      REQUIRE(got.ok());
      CHECK(got->text == test["text"].get<std::string>());
      ++texts;
    } else if (expect == "error") {
      REQUIRE_FALSE(got.ok());
      CHECK_FALSE(got.status().name().empty());
      const std::string error = test["error"];
      if (error.starts_with("TemplateError: ")) {
        CHECK(got.status().message() == error.substr(15));
      } else {
        CHECK(got.status().message().starts_with("line 1: "));
      }
      ++errors;
    } else {
      // An answer or an error, and a thread that goes on.
      if (!got.ok()) CHECK(got.status().code() == StatusCode::kResourceExhausted);
      ++bounded;
    }
  }
  std::cout << "template cases: " << texts << " texts, " << errors << " errors, " << bounded
            << " bounded\n";
  CHECK(texts + errors + bounded == kCases);
}

}  // namespace
}  // namespace minfer
