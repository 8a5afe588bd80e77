// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-tokenize: the token ids and pieces of a text. Reads the model's header alone.
#include <minfer/minfer.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../common/console.h"

namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string model;
  std::string text;
  std::string file;
  bool add_special = false;
  bool parse_special = false;
  bool ids_only = false;
  bool count_only = false;
  bool json = false;
};

// A piece may be a part of a character: JSON, which is UTF-8, gets such bytes as numbers.
Json TokenAsJson(const mf::Model& model, mf_token token, const std::string& piece) {
  Json one;
  one["id"] = token;
  one["piece"] = piece;
  try {
    (void)one.dump();
  } catch (const Json::type_error&) {
    one["piece"] = nullptr;
    for (const char byte : piece) one["bytes"].push_back(static_cast<unsigned char>(byte));
  }
  const uint32_t attributes = mf_tokenizer_attributes(model.get(), token);
  one["control"] = (attributes & MF_TOKEN_CONTROL) != 0;
  return one;
}

int Print(const mf::Model& model, const Settings& settings, const std::vector<mf_token>& tokens) {
  if (settings.count_only) {
    std::printf("%zu\n", tokens.size());
    return 0;
  }
  Json list = Json::array();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (settings.ids_only && !settings.json) {
      std::printf("%s%d", i == 0 ? "" : " ", tokens[i]);
      continue;
    }
    const mf::Result<std::string> piece = model.piece(tokens[i], MF_DECODE_SPECIAL);
    if (!piece) return console::Fail(piece.error());
    if (settings.json) {
      list.push_back(settings.ids_only ? Json(tokens[i]) : TokenAsJson(model, tokens[i], *piece));
    } else {
      std::printf("%8d  %s\n", tokens[i], console::Quoted(*piece).c_str());
    }
  }
  if (settings.json) std::printf("%s\n", list.dump(2).c_str());
  if (settings.ids_only && !settings.json) std::printf("\n");
  return 0;
}

int Run(const Settings& settings) {
  std::string text = settings.text;
  if (!settings.file.empty() && !console::ReadAll(settings.file, &text)) return 1;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = MF_LOAD_HEADER;
  mf::Result<mf::Model> model = mf::Model::load(settings.model, &options);
  if (!model) return console::Fail(model.error());
  uint32_t flags = 0;
  if (settings.add_special) flags |= MF_ENCODE_ADD_SPECIAL;
  if (settings.parse_special) flags |= MF_ENCODE_PARSE_SPECIAL;
  const mf::Result<std::vector<mf_token>> tokens = model->encode(text, flags);
  if (!tokens) return console::Fail(tokens.error());
  return Print(*model, settings, *tokens);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("The tokens of a text.", "minfer-tokenize");
  app.add_option("-m,--model", settings.model, "The GGUF file")->required();
  CLI::Option* text = app.add_option("text", settings.text, "The text; without it, see -f");
  app.add_option("-f,--file", settings.file, "Read the text from a file, or from the input for -")
      ->excludes(text);
  app.add_flag("--add-special", settings.add_special,
               "Add the tokens that belong around a text, such as its begin");
  app.add_flag("--parse-special", settings.parse_special,
               "Let the text of a control token become that token");
  app.add_flag("--ids", settings.ids_only, "Ids alone, in one line");
  app.add_flag("--count", settings.count_only, "The number of tokens alone");
  app.add_flag("--json", settings.json, "As JSON");
  CLI11_PARSE(app, argc, argv);
  if (text->count() == 0 && settings.file.empty()) settings.file = "-";
  return Run(settings);
}
