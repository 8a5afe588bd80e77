// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-chat: talk with a model. Without -p it asks for lines until the input ends; with -p it
// answers once. The answer goes to the standard output and everything else to the error stream, so
// that it can be piped. Ctrl-C stops the answer.
#include <minfer/minfer.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "../common/device_option.h"
#include "conversation.h"
#include "terminal.h"

namespace {

struct Settings {
  std::string model;
  std::string prompt;
  std::string system;
  std::string tuning;
  std::string template_file;
  std::string answer_start;
  uint32_t n_ctx = 4096;
  uint32_t n_threads = 0;
  uint32_t max_tokens = 0;
  mf_kv_type kv_type = MF_KV_DEFAULT;
  std::string device = "any";
  int32_t gpu_layers = -1;
  bool one_shot = false;
  bool show_prompt = false;
  bool verbose = false;
  bool ignore_end = false;
  mf_sampling sampling;
};

void AddSamplingOptions(CLI::App& app, mf_sampling& sampling) {
  app.add_option("--temp", sampling.temperature, "Temperature; 0 is greedy");
  app.add_option("--top-k", sampling.top_k, "The best so many tokens; 0 is off");
  app.add_option("--top-p", sampling.top_p, "The best tokens up to this probability; 1 is off");
  app.add_option("--min-p", sampling.min_p, "Tokens with this share of the best one's; 0 is off");
  app.add_option("--repeat-penalty", sampling.repetition_penalty, "1 is off");
  app.add_option("--repeat-last-n", sampling.penalty_last_n,
                 "Newest tokens that the penalty looks at; -1 is all");
  app.add_option("--seed", sampling.seed, "The default differs at every start");
}

void AddOptions(CLI::App& app, Settings& settings) {
  const std::map<std::string, mf_kv_type> kv_types = {
      {"f32", MF_KV_F32}, {"f16", MF_KV_F16}, {"q8_0", MF_KV_Q8_0}};
  app.add_option("-m,--model", settings.model, "The GGUF file")->required();
  app.add_option("-p,--prompt", settings.prompt, "Answer this once and end");
  app.add_option("-s,--system", settings.system, "The system message");
  app.add_option("--chat-template", settings.template_file,
                 "A file with a template to use instead of the model's own");
  app.add_option("--answer-start", settings.answer_start, "What every answer begins with");
  app.add_flag("--show-prompt", settings.show_prompt,
               "Write what the model would be given for -p, and end");
  app.add_option("-c,--ctx", settings.n_ctx, "Tokens that the conversation can hold");
  app.add_option("-t,--threads", settings.n_threads, "0 is as many as there are processors");
  app.add_option("-n,--max-tokens", settings.max_tokens, "Tokens of one answer; 0 is no limit");
  app.add_option("--kv", settings.kv_type, "How the cache is stored: f32, f16 or q8_0")
      ->transform(CLI::CheckedTransformer(kv_types));
  console::AddDeviceOption(&app, &settings.device);
  app.add_option("--gpu-layers", settings.gpu_layers,
                 "The first layers on the GPU, the rest on the CPU; -1 is all");
  app.add_option("--tuning", settings.tuning, "Levers of the context: name=value,name=value");
  app.add_flag("--ignore-end", settings.ignore_end, "Go on after the model's end token");
  app.add_flag("-v,--verbose", settings.verbose, "Show what the library logs");
  AddSamplingOptions(app, settings.sampling);
}

void WriteLog(void* user_data, mf_log_level level, const char* message, size_t length) {
  static_cast<chat::Terminal*>(user_data)->Note(std::string(mf_log_level_name(level)) + ": " +
                                                std::string(message, length));
}

int32_t ShowProgress(void* user_data, uint64_t done, uint64_t total) {
  if (total > 0)
    static_cast<chat::Terminal*>(user_data)->Progress(static_cast<int>(done * 100 / total));
  return 0;
}

int Fail(chat::Terminal& terminal, const mf::Error& error) {
  terminal.Note(std::string(error.status_name()) + ": " + std::string(error.message()));
  return 1;
}

std::string SpeedLine(const chat::Answer& answer) {
  char text[160];
  const auto rate = [](uint64_t n, double seconds) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
  };
  std::snprintf(
      text, sizeof(text), "[prompt %llu tokens, %.1f tokens/s; answer %llu tokens, %.1f tokens/s]",
      static_cast<unsigned long long>(answer.n_prompt_tokens),
      rate(answer.n_prompt_tokens, answer.prompt_seconds),
      static_cast<unsigned long long>(answer.n_tokens), rate(answer.n_tokens, answer.seconds));
  return text;
}

// One turn. Returns false when it failed by more than a cancel or a full cache.
bool Turn(chat::Terminal& terminal, chat::Conversation& conversation, const Settings& settings,
          mf::Cancel& cancel, const std::string& question) {
  cancel.reset_request();
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = settings.max_tokens;
  options.ignore_end = settings.ignore_end ? 1 : 0;
  options.cancel = cancel.get();
  const chat::Answer answer = conversation.Ask(
      question, options, [&](const char* text, size_t length) { terminal.Write(text, length); });
  terminal.EndAnswer();
  if (answer.status == MF_STATUS_CANCELLED) {
    terminal.Note("[stopped]");
  } else if (answer.status == MF_STATUS_RESOURCE_EXHAUSTED) {
    terminal.Note("[the conversation is full: /reset starts anew, -c makes more room]");
  } else if (answer.status != MF_STATUS_OK) {
    terminal.Note(std::string(mf_status_name(answer.status)) + ": " + answer.message);
    return false;
  } else if (answer.finish == MF_FINISH_MAX_TOKENS) {
    terminal.Note("[cut at " + std::to_string(answer.n_tokens) + " tokens]");
  }
  if (settings.one_shot || terminal.interactive()) terminal.Note(SpeedLine(answer));
  return answer.status != MF_STATUS_RESOURCE_EXHAUSTED || terminal.interactive();
}

int Talk(chat::Terminal& terminal, chat::Conversation& conversation, const Settings& settings,
         mf::Cancel& cancel) {
  if (terminal.interactive()) terminal.Note("Ctrl-C stops an answer; /reset, /quit or Ctrl-D");
  for (;;) {
    const chat::Line line = terminal.ReadLine("> ");
    if (line.status == chat::LineStatus::kEnd || line.text == "/quit") return 0;
    if (line.status == chat::LineStatus::kInterrupted) {
      terminal.Note("/quit or Ctrl-D ends the program");
      continue;
    }
    if (line.text.empty()) continue;
    if (line.text == "/reset") {
      const mf::Result<void> reset = conversation.Reset();
      if (!reset) return Fail(terminal, reset.error());
      continue;
    }
    if (!Turn(terminal, conversation, settings, cancel, line.text)) return 1;
  }
}

bool ReadFile(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.good() || (file.eof() && !text->empty());
}

int ShowPrompt(chat::Terminal& terminal, const chat::Conversation& conversation,
               const std::string& question) {
  const mf::Result<std::string> prompt = conversation.Prompt(question);
  if (!prompt) return Fail(terminal, prompt.error());
  terminal.Write(prompt->data(), prompt->size());
  return 0;
}

// A model and where it runs.
struct Opened {
  mf::Model model;
  mf::Context context;
};

mf::Result<Opened> Open(chat::Terminal& terminal, const Settings& settings, mf::Cancel& cancel,
                        size_t device) {
  mf_model_device where = MF_MODEL_DEVICE_INIT;
  where.device = static_cast<uint32_t>(device);
  const std::string tuning = "gpu_layers=" + std::to_string(settings.gpu_layers);
  mf_model_options model_options = MF_MODEL_OPTIONS_INIT;
  model_options.devices = &where;
  model_options.n_devices = 1;
  model_options.tuning = tuning.c_str();
  model_options.progress = ShowProgress;
  model_options.progress_user_data = &terminal;
  model_options.cancel = cancel.get();
  model_options.log = {WriteLog, &terminal, settings.verbose ? MF_LOG_INFO : MF_LOG_WARNING, 0};
  mf::Result<mf::Model> model = mf::Model::load(settings.model, &model_options);
  terminal.ClearProgress();
  if (!model) return model.error();
  const mf::Result<mf_model_info> info = model->describe();
  if (!info) return info.error();
  mf_context_options context_options = MF_CONTEXT_OPTIONS_INIT;
  context_options.n_ctx = std::min(settings.n_ctx, info->n_ctx_train);
  context_options.n_threads = settings.n_threads;
  context_options.kv_type_k = context_options.kv_type_v = settings.kv_type;
  context_options.tuning = settings.tuning.empty() ? nullptr : settings.tuning.c_str();
  context_options.log = model_options.log;
  mf::Result<mf::Context> context = mf::Context::create(*model, &context_options);
  if (!context) return context.error();
  return Opened{std::move(*model), std::move(*context)};
}

// On the device that was asked for. On the best one when none was, and on the CPU when that one
// cannot run the model or has no room for it.
mf::Result<Opened> OpenAnywhere(chat::Terminal& terminal, const Settings& settings,
                                mf::Cancel& cancel) {
  size_t device = 0;
  mf::Error error;
  if (!console::FindDevice(settings.device, &device, error.out())) return error;
  mf_device_info info = MF_DEVICE_INFO_INIT;
  mf_device_get_info(device, &info, nullptr);
  const std::string name = info.name;
  if (device != 0) terminal.Note("[on " + name + "]");
  mf::Result<Opened> opened = Open(terminal, settings, cancel, device);
  if (opened || device == 0 || settings.device != "any" ||
      (opened.error().status() != MF_STATUS_FAILED_PRECONDITION &&
       opened.error().status() != MF_STATUS_RESOURCE_EXHAUSTED)) {
    return opened;
  }
  terminal.Note("[not on " + name + ": " + std::string(opened.error().message()) +
                "; on the CPU instead]");
  return Open(terminal, settings, cancel, 0);
}

int Run(chat::Terminal& terminal, const Settings& settings) {
  chat::ConversationSetup setup;
  setup.system = settings.system;
  setup.answer_start = settings.answer_start;
  if (!settings.template_file.empty() && !ReadFile(settings.template_file, &setup.template_text)) {
    terminal.Note(settings.template_file + ": cannot be read");
    return 1;
  }
  mf::Result<mf::Cancel> cancel = mf::Cancel::create();
  if (!cancel) return Fail(terminal, cancel.error());
  chat::StopOnInterrupt(cancel->get());

  mf::Result<Opened> opened = OpenAnywhere(terminal, settings, *cancel);
  if (!opened) return Fail(terminal, opened.error());
  mf::Result<mf::Session> session = mf::Session::create(opened->context);
  if (!session) return Fail(terminal, session.error());
  const mf::Result<void> sampling = session->set_sampling(settings.sampling);
  if (!sampling) return Fail(terminal, sampling.error());

  chat::Conversation conversation(&opened->model, &*session, std::move(setup));
  if (!conversation.has_template()) {
    terminal.Note("The model has no chat template: it goes on with your text.");
  }
  if (settings.show_prompt) return ShowPrompt(terminal, conversation, settings.prompt);
  if (!settings.one_shot) return Talk(terminal, conversation, settings, *cancel);
  return Turn(terminal, conversation, settings, *cancel, settings.prompt) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  mf_sampling_init(&settings.sampling, sizeof(settings.sampling));
  settings.sampling.seed = std::random_device()();
  CLI::App app("Talk with a model in a GGUF file.", "minfer-chat");
  AddOptions(app, settings);
  CLI11_PARSE(app, argc, argv);
  settings.one_shot = app.count("-p") > 0;
  chat::Terminal terminal;
  return Run(terminal, settings);
}
