// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Reads the input as a chat template and renders a conversation with it, under small limits. It
// gives a text within the limits or an error with words, and the same again.
#include <string>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

minfer::ChatRequest MakeRequest() {
  minfer::ChatRequest request;
  request.messages.push_back({"system", "Be brief.", ""});
  request.messages.push_back({"user", "a b  c\n", ""});
  request.messages.push_back(
      {"assistant", "",
       R"({"tool_calls":[{"type":"function","function":{"name":"f","arguments":{"x":[1,2.5]}}}]})"});
  request.messages.push_back({"tool", "42", R"({"name":"f"})"});
  request.tools_json = R"([{"type":"function","function":{"name":"f","parameters":{}}}])";
  request.variables_json = R"({"b":[1,[2,[3]]],"x":"<|x|>","n":null,"big":9007199254740993})";
  request.bos_token = "<s>";
  request.eos_token = "</s>";
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const minfer::ChatRequest kRequest = MakeRequest();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const minfer::StatusOr<minfer::ChatTemplate> parsed = minfer::ChatTemplate::Parse(text);
  if (!parsed.ok()) {
    FUZZ_REQUIRE(!parsed.status().message().empty());
    return 0;
  }
  minfer::RenderOptions options;
  options.limits.max_steps = 20000;
  options.limits.max_output_bytes = 1 << 16;
  options.limits.max_memory_bytes = size_t{4} << 20;
  options.now = 1767323045;
  const minfer::StatusOr<minfer::RenderedText> once =
      minfer::RenderMessages(*parsed, kRequest, options);
  const minfer::StatusOr<minfer::RenderedText> again =
      minfer::RenderMessages(*parsed, kRequest, options);
  FUZZ_REQUIRE(once.ok() == again.ok());
  if (!once.ok()) {
    FUZZ_REQUIRE(!once.status().message().empty() ||
                 once.status().code() == minfer::StatusCode::kInvalidArgument);
    return 0;
  }
  FUZZ_REQUIRE(once->text == again->text);
  FUZZ_REQUIRE(once->text.size() <= options.limits.max_output_bytes);
  return 0;
}
