// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-inspect: what is in a GGUF file, and what it takes to run. It reads the header alone, and
// looks at every well-formed file, also of an architecture that the library does not run.
#include <minfer/minfer.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "../common/console.h"
#include "facts.h"
#include "print.h"

namespace {

int Run(const inspect::Settings& settings, bool json) {
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = MF_LOAD_HEADER;
  const mf::Result<mf::Model> model = mf::Model::load(settings.path, &options);
  if (!model) return console::Fail(model.error());
  const mf::Result<inspect::Json> facts = inspect::Collect(*model, settings);
  if (!facts) return console::Fail(facts.error());
  if (!json) {
    inspect::Print(*facts);
    return 0;
  }
  // Texts of a file need not be UTF-8; JSON must.
  const std::string text = facts->dump(2, ' ', false, inspect::Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  inspect::Settings settings;
  bool json = false;
  const std::map<std::string, mf_kv_type> kv_types = {
      {"f32", MF_KV_F32}, {"f16", MF_KV_F16}, {"q8_0", MF_KV_Q8_0}};
  CLI::App app("What is in a GGUF file.", "minfer-inspect");
  app.add_option("model", settings.path, "The GGUF file")->required();
  app.add_option("-c,--ctx", settings.n_ctx, "Plan for so many tokens; 0 is the train context");
  app.add_option("--sessions", settings.n_sessions, "Plan for so many sessions");
  app.add_option("--kv", settings.kv_type, "Plan for a cache of f32, f16 or q8_0")
      ->transform(CLI::CheckedTransformer(kv_types));
  app.add_option("--elements", settings.n_elements, "Elements of an array that are shown");
  app.add_flag("--tensors", settings.tensors, "Show the tensors one by one");
  app.add_flag("--json", json, "As JSON");
  CLI11_PARSE(app, argc, argv);
  return Run(settings, json);
}
