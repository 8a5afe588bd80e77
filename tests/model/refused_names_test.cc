// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The README's table of what others take and this version refuses is true: each name in it is
// refused, and the refusal says it.
#include "gguf/writer.h"
#include "kernels/quant/element_type.h"
#include "models/architecture.h"
#include "tensor/dequantize.h"
#include "tests/support/engine_fixture.h"
#include "tokenizer/gguf_vocabulary.h"

namespace minfer::testing {
namespace {

// The names between backquotes in the row that begins so.
std::vector<std::string> NamesOfRow(const std::string& begin) {
  const std::string text = ReadFile(TestDataPath("../../README.md"));
  const size_t at = text.find("\n| " + begin + " | `");
  INFO(begin);
  REQUIRE(at != std::string::npos);
  const std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  std::vector<std::string> names;
  for (size_t open = row.find('`'); open != std::string::npos;) {
    const size_t close = row.find('`', open + 1);
    names.push_back(row.substr(open + 1, close - open - 1));
    open = row.find('`', close + 1);
  }
  return names;
}

// A tiny model with one text changed.
Status LoadWith(const std::string& key, const std::string& text) {
  StatusOr<ModelFiles> files = ModelFiles::Open(TinyModelPath("qwen2"), FileAccess::kMap);
  MF_REQUIRE_OK(files);
  GgufWriter writer;
  writer.CopyMetadata(files->metadata());
  writer.SetString(key, text);
  const StatusOr<std::string> bytes = writer.WriteToString(nullptr);
  MF_REQUIRE_OK(bytes);
  StatusOr<ModelFiles> changed = ModelFiles::FromSources(
      {MakeMemorySource({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()})});
  MF_REQUIRE_OK(changed);
  if (key == "general.architecture") return DescribeModel(*changed, DescribeOptions()).status();
  return LoadTokenizer(changed->metadata()).status();
}

TEST_CASE("Model: the README's refused architectures are refused by name", "[model]") {
  const std::vector<std::string> names = NamesOfRow("architectures");
  CHECK(names.size() > 100);
  for (const std::string& name : names) {
    const Status status = LoadWith("general.architecture", name);
    INFO(name << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kUnimplemented);
    CHECK(status.name() == "general.architecture");
    CHECK_THAT(std::string(status.message()), Catch::Contains("\"" + name + "\""));
  }
}

TEST_CASE("Model: the README's refused tokenizers and rules are refused by name", "[model]") {
  const std::vector<std::string> rules = NamesOfRow("splitting rules of byte-level BPE");
  CHECK(rules.size() > 50);
  for (const std::string& name : rules) {
    VocabularyData data;
    data.model = "gpt2";
    data.pre = name;
    for (const char* token : {"a", "b", "ab"}) data.tokens.Add(token);
    data.merges.emplace().Add("a b");
    const Status status = Tokenizer::Create(data).status();
    INFO(name << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kUnimplemented);
    CHECK(status.name() == name);
  }
  const std::vector<std::string> models = NamesOfRow("tokenizers");
  CHECK(models.size() == 5);
  for (const std::string& name : models) {
    const Status status = LoadWith("tokenizer.ggml.model", name);
    INFO(name << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kUnimplemented);
    CHECK(status.name() == name);
  }
}

TEST_CASE("Model: the README's refused types have no decoder", "[model]") {
  const std::vector<std::string> names = NamesOfRow("tensor types");
  CHECK(names.size() == 2);
  for (const std::string& name : names) {
    bool found = false;
    for (int32_t code = 0; code < 64; ++code) {
      const ElementTraits* traits = FindElementTraits(code);
      if (traits == nullptr || name != traits->name) continue;
      found = true;
      CHECK_FALSE(kernels::CanDequantize(static_cast<ElementType>(code)));
    }
    INFO(name);
    CHECK(found);
  }
}

}  // namespace
}  // namespace minfer::testing
