// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-quantize: writes a model anew with its matrices in another type, and says what each
// tensor lost. The new file is there whole or not at all; Ctrl-C leaves nothing behind.
#include <unistd.h>
#include <minfer/minfer.hpp>

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../common/console.h"
#include "new_file.h"

namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string in;
  std::string out;
  mf_tensor_type type = MF_TENSOR_F16;
  uint32_t n_threads = 0;
  bool pure = false;
  bool requantize = false;
  bool force = false;
  bool table = false;
  bool json = false;
};

// All types that can be written, by name.
std::map<std::string, mf_tensor_type> WritableTypes() {
  std::map<std::string, mf_tensor_type> types;
  for (mf_tensor_type type = 0; type < 128; ++type) {
    if (mf_quantize_supports(type) != 0) types[mf_tensor_type_name(type)] = type;
  }
  return types;
}

// What is told of each tensor, kept for the table.
struct Told {
  console::ProgressBar bar{"quantizing"};
  Json tensors = Json::array();
  std::string name;
  double squares = 0.0;  // of the changed tensors' values, and of their errors
  double error_squares = 0.0;

  static int32_t Progress(void* self, uint64_t done, uint64_t total) {
    auto& told = *static_cast<Told*>(self);
    told.bar.Show(done, total, told.name);
    return 0;
  }
  static int32_t Tensor(void* self, const mf_quantize_event* event) {
    static_cast<Told*>(self)->Add(*event);
    return 0;
  }
  void Add(const mf_quantize_event& event) {
    name.assign(event.name.data, event.name.length);
    Json one;
    one["name"] = name;
    one["from"] = mf_tensor_type_name(event.from);
    one["to"] = mf_tensor_type_name(event.to);
    one["bytes_before"] = event.bytes_before;
    one["bytes_after"] = event.bytes_after;
    if (event.from != event.to) {
      one["rms"] = event.rms;
      one["rms_error"] = event.rms_error;
      one["max_error"] = event.max_error;
    }
    tensors.push_back(std::move(one));
  }
};

void PrintTable(const Json& tensors) {
  std::printf("%-40s %-6s %-6s %14s %14s %12s %10s %12s\n", "tensor", "from", "to", "bytes before",
              "bytes after", "rms error", "relative", "max error");
  for (const Json& one : tensors) {
    std::printf("%-40s %-6s %-6s %14" PRIu64 " %14" PRIu64, one["name"].get<std::string>().c_str(),
                one["from"].get<std::string>().c_str(), one["to"].get<std::string>().c_str(),
                one["bytes_before"].get<uint64_t>(), one["bytes_after"].get<uint64_t>());
    if (one.contains("rms_error")) {
      const double rms = one["rms"];
      const double error = one["rms_error"];
      std::printf(" %12.4g %10.5f %12.4g", error, rms > 0.0 ? error / rms : 0.0,
                  one["max_error"].get<double>());
    }
    std::printf("\n");
  }
}

void PrintResult(const Settings& settings, const mf_quantize_result& result, Json tensors) {
  if (settings.json) {
    Json out;
    out["type"] = mf_tensor_type_name(settings.type);
    out["n_tensors"] = result.n_tensors;
    out["n_changed"] = result.n_changed;
    out["bytes_before"] = result.bytes_before;
    out["bytes_after"] = result.bytes_after;
    out["file_bytes"] = result.file_bytes;
    out["tensors"] = std::move(tensors);
    std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  if (settings.table) PrintTable(tensors);
  std::printf("%u of %u tensors are %s now; %s of tensors became %s, the file has %" PRIu64
              " bytes\n",
              result.n_changed, result.n_tensors, mf_tensor_type_name(settings.type),
              console::Bytes(result.bytes_before).c_str(),
              console::Bytes(result.bytes_after).c_str(), result.file_bytes);
}

int Run(const Settings& settings) {
  if (!settings.force && access(settings.out.c_str(), F_OK) == 0) {
    return console::Fail(settings.out + ": there is such a file; --force writes over it");
  }
  mf::Result<mf::Cancel> cancel = mf::Cancel::create();
  if (!cancel) return console::Fail(cancel.error());
  console::CancelOnInterrupt(cancel->get());
  Told told;
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.n_threads = settings.n_threads;
  options.allow_requantize = settings.requantize ? 1 : 0;
  options.pure = settings.pure ? 1 : 0;
  options.progress = &Told::Progress;
  options.progress_user_data = &told;
  options.tensor = settings.table || settings.json ? &Told::Tensor : nullptr;
  options.tensor_user_data = &told;
  options.cancel = cancel->get();

  NewFile file(settings.out);
  if (!file.Open()) return console::Fail(file.Problem());
  bool written = true;
  const mf::Result<mf_quantize_result> result = mf::quantize(
      settings.in.c_str(), settings.type,
      [&](std::string_view bytes) { return written = file.Write(bytes); }, &options);
  told.bar.Clear();
  if (!written) return console::Fail(file.Problem());
  if (!result) return console::Fail(result.error());
  if (!file.Finish()) return console::Fail(file.Problem());
  PrintResult(settings, *result, std::move(told.tensors));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Writes a model anew with its matrices in another type.", "minfer-quantize");
  app.add_option("in", settings.in, "The GGUF file; its first part when it is split")->required();
  app.add_option("out", settings.out, "The new GGUF file")->required();
  app.add_option("type", settings.type, "The type of the matrices, such as Q4_K")
      ->required()
      ->transform(CLI::CheckedTransformer(WritableTypes(), CLI::ignore_case));
  app.add_option("-t,--threads", settings.n_threads, "0 is as many as there are processors");
  app.add_flag("--pure", settings.pure, "The matrix that makes the logits takes the type too");
  app.add_flag("--requantize", settings.requantize, "Take tensors that are quantised already");
  app.add_flag("--force", settings.force, "Write over a file that is there");
  app.add_flag("--table", settings.table, "Show every tensor with its error");
  app.add_flag("--json", settings.json, "The same as JSON");
  CLI11_PARSE(app, argc, argv);
  return Run(settings);
}
