// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace bench {

const char* KvTypeName(mf_kv_type type) {
  switch (type) {
    case MF_KV_F32:
      return "f32";
    case MF_KV_F16:
      return "f16";
    case MF_KV_Q8_0:
      return "q8_0";
    default:
      return "default";
  }
}

bool ParseOptions(int argc, char** argv, Options* options, int* exit_code) {
  const std::map<std::string, mf_kv_type> kv_types = {
      {"default", MF_KV_DEFAULT}, {"f32", MF_KV_F32}, {"f16", MF_KV_F16}, {"q8_0", MF_KV_Q8_0}};
  const std::map<std::string, Format> formats = {
      {"md", Format::kMarkdown}, {"csv", Format::kCsv}, {"json", Format::kJson}};
  CLI::App app("Measures how fast models run. Options with a list take it separated by commas.",
               "minfer-bench");
  const auto list = [&](const char* name, auto& values, const char* help) {
    return app.add_option(name, values, help)->delimiter(',')->capture_default_str();
  };
  list("-m,--model", options->models, "GGUF files")->required();
  list("-p,--n-prompt", options->n_prompt, "Tokens of a prompt; 0 leaves this test out");
  list("-n,--n-gen", options->n_generate, "Tokens to generate; 0 leaves this test out");
  list("-d,--n-depth", options->depths, "Tokens that are in the cache before");
  list("-t,--threads", options->threads, "Threads; 0 is as many as there are processors");
  list("--sessions", options->sessions, "Sessions that run together");
  list("--kv", options->kv_types, "How the cache is stored: default, f32, f16, q8_0")
      ->transform(CLI::CheckedTransformer(kv_types));
  app.add_option("--tuning", options->tunings,
                 "Levers, name=value,name=value; give it twice to compare. \"\" is the defaults")
      ->allow_extra_args(false)
      ->take_all();
  console::AddDeviceOption(&app, &options->device.wish);
  app.add_option("-b,--batch", options->n_batch, "Rows that a step takes; 0 is the default");
  app.add_option("-u,--ubatch", options->n_micro_batch, "Rows that run at once; 0 is the default");
  app.add_option("-r,--repetitions", options->repetitions, "How often each test is measured")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("!--no-warmup", options->warm_up, "Count the first run of a test too");
  app.add_flag("--greedy", options->greedy,
               "Take the best token each time; otherwise they are drawn as the library does by "
               "default, each session with a seed of its own");
  app.add_flag("--cancel", options->cancel, "Measure how long a cancel takes instead");
  app.add_option("--encode", options->encode_bytes,
                 "Measure how long the tokenizer takes for so many bytes of one thing instead "
                 "(10000000)");
  app.add_flag("--kernels", options->kernels, "Print which kernels ran, on the error stream");
  app.add_option("-o,--output", options->format, "md, csv or json")
      ->transform(CLI::CheckedTransformer(formats));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error);
    return false;
  }
  if (options->tunings.empty()) options->tunings.emplace_back();
  return true;
}

}  // namespace bench
