// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-perplexity: how well a model foretells a text, chunk by chunk. nll is the mean negative
// log-likelihood of a token (natural logarithm), perplexity its exponential; the intervals hold the
// true mean with 95 % where tokens are taken for independent.
#include <minfer/minfer.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../common/console.h"
#include "../common/device_option.h"
#include "scorer.h"

namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string model;
  std::string file = "-";
  size_t chunk_tokens = 512;
  size_t n_chunks = 0;
  size_t n_parallel = 8;
  uint32_t n_threads = 0;
  mf_kv_type kv_type = MF_KV_DEFAULT;
  std::string tuning;
  bool add_special = false;
  bool json = false;
  console::DeviceChoice device;
};

Json ChunkAsJson(const Chunk& chunk) {
  return {{"chunk", chunk.index + 1},
          {"tokens", chunk.own.count()},
          {"nll", chunk.own.mean()},
          {"perplexity", std::exp(chunk.own.mean())},
          {"total_tokens", chunk.total.count()},
          {"total_nll", chunk.total.mean()},
          {"total_nll_95", chunk.total.half_width()},
          {"total_perplexity", std::exp(chunk.total.mean())}};
}

void PrintHead() {
  std::printf("%7s %7s %8s %11s | %9s %8s %9s %11s\n", "chunk", "tokens", "nll", "perplexity",
              "all", "nll", "+-", "perplexity");
}

void PrintChunk(const Chunk& chunk) {
  std::printf("%7zu %7" PRIu64 " %8.4f %11.4f | %9" PRIu64 " %8.4f %9.4f %11.4f\n", chunk.index + 1,
              chunk.own.count(), chunk.own.mean(), std::exp(chunk.own.mean()), chunk.total.count(),
              chunk.total.mean(), chunk.total.half_width(), std::exp(chunk.total.mean()));
  std::fflush(stdout);
}

void PrintResult(const Chunk& last) {
  const double nll = last.total.mean();
  const double width = last.total.half_width();
  std::printf("nll %.4f +- %.4f, perplexity %.4f (%.4f to %.4f) over %" PRIu64 " tokens\n", nll,
              width, std::exp(nll), std::exp(nll - width), std::exp(nll + width),
              last.total.count());
}

mf::Result<mf::Context> MakeContext(const mf::Model& model, const Settings& settings,
                                    const ScoreOptions& score) {
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = static_cast<uint32_t>(score.chunk_tokens);
  options.n_sessions = static_cast<uint32_t>(score.n_parallel);
  options.n_threads = settings.n_threads;
  options.kv_type_k = options.kv_type_v = settings.kv_type;
  options.tuning = settings.tuning.empty() ? nullptr : settings.tuning.c_str();
  return mf::Context::create(model, &options);
}

int Score(const Settings& settings, const mf::Model& model, const mf::Cancel& cancel,
          const std::vector<mf_token>& tokens) {
  ScoreOptions score;
  score.chunk_tokens = settings.chunk_tokens;
  const size_t n_chunks = (tokens.size() + score.chunk_tokens - 1) / score.chunk_tokens;
  score.n_parallel = std::max<size_t>(1, std::min(settings.n_parallel, n_chunks));
  score.cancel = cancel.get();
  mf::Result<mf::Context> context = MakeContext(model, settings, score);
  if (!context) return console::Fail(context.error());

  console::ProgressBar bar("scoring");
  Json chunks = Json::array();
  Chunk last;
  if (!settings.json) PrintHead();
  const auto tell = [&](const Chunk& chunk) {
    last = chunk;
    bar.Clear();
    if (settings.json) {
      chunks.push_back(ChunkAsJson(chunk));
    } else {
      PrintChunk(chunk);
    }
  };
  const auto progress = [&](size_t done) { bar.Show(done, tokens.size()); };
  const mf::Result<void> ran = Scorer(&*context, score).Run(tokens, tell, progress);
  bar.Clear();
  if (!ran) return console::Fail(ran.error());
  if (settings.json) {
    std::printf("%s\n", chunks.dump(2).c_str());
  } else {
    PrintResult(last);
  }
  return 0;
}

int Run(const Settings& settings) {
  std::string text;
  if (!console::ReadAll(settings.file, &text)) return 1;
  mf::Result<mf::Cancel> cancel = mf::Cancel::create();
  if (!cancel) return console::Fail(cancel.error());
  console::CancelOnInterrupt(cancel->get());
  console::ProgressBar bar("loading");
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.cancel = cancel->get();
  options.progress = &console::ProgressBar::Callback;
  options.progress_user_data = &bar;
  console::DeviceChoice device = settings.device;
  mf::Error no_device;
  if (!console::AskForDevice(&device, &options, no_device.out())) return console::Fail(no_device);
  const mf::Result<mf::Model> model = mf::Model::load(settings.model, &options);
  bar.Clear();
  if (!model) return console::Fail(model.error());
  mf::Result<std::vector<mf_token>> tokens =
      model->encode(text, settings.add_special ? MF_ENCODE_ADD_SPECIAL : 0);
  if (!tokens) return console::Fail(tokens.error());
  if (settings.n_chunks > 0) {
    tokens->resize(std::min(tokens->size(), settings.n_chunks * settings.chunk_tokens));
  }
  if (tokens->size() < 2) return console::Fail("a text of two tokens at least is needed");
  return Score(settings, *model, *cancel, *tokens);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::map<std::string, mf_kv_type> kv_types = {
      {"f32", MF_KV_F32}, {"f16", MF_KV_F16}, {"q8_0", MF_KV_Q8_0}};
  CLI::App app("How well a model foretells a text.", "minfer-perplexity");
  app.add_option("-m,--model", settings.model, "The GGUF file")->required();
  app.add_option("-f,--file", settings.file, "The text; - is the input");
  app.add_option("-c,--chunk", settings.chunk_tokens, "Tokens of a chunk")
      ->check(CLI::Range(2, 1 << 24));
  app.add_option("-n,--chunks", settings.n_chunks, "Chunks to score; 0 is all")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--parallel", settings.n_parallel, "Chunks that run side by side")
      ->check(CLI::Range(1, 256));
  app.add_option("-t,--threads", settings.n_threads, "0 is as many as there are processors");
  app.add_option("--kv", settings.kv_type, "How the cache is stored: f32, f16 or q8_0")
      ->transform(CLI::CheckedTransformer(kv_types));
  console::AddDeviceOption(&app, &settings.device.wish);
  app.add_option("--tuning", settings.tuning, "Levers of the context: name=value,name=value");
  app.add_flag("--add-special", settings.add_special,
               "Add the tokens that belong around a text, such as its begin");
  app.add_flag("--json", settings.json, "The chunks as JSON");
  CLI11_PARSE(app, argc, argv);
  return Run(settings);
}
