// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// minfer-bench: how fast models run, in tokens a second. Every combination of the lists on the
// command line is a test; a test is warmed up once and measured -r times, tunings in turn, so that
// what else the machine does hits all of them alike.
#include <minfer/minfer.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bandwidth.h"
#include "cancel_latency.h"
#include "encode_times.h"
#include "options.h"
#include "report.h"
#include "runner.h"

namespace {

using bench::Options;
using bench::Row;
using bench::Runner;

// One line on the error stream, where that is a terminal.
class Progress {
 public:
  explicit Progress(size_t n_tests) : n_tests_(n_tests) {}
  ~Progress() { Clear(); }
  void NextTest() { ++test_; }
  void Show(const std::string& what) {
    if (on_) std::fprintf(stderr, "\r\033[K[%zu/%zu] %s", test_, n_tests_, what.c_str());
  }
  void Clear() {
    if (on_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  const bool on_ = isatty(STDERR_FILENO) == 1;
  size_t n_tests_;
  size_t test_ = 0;
};

struct Test {
  bool generate = false;
  uint32_t depth = 0;
  uint32_t n = 0;

  std::string Name() const {
    return (generate ? "tg" : "pp") + std::to_string(n) +
           (depth > 0 ? " @ d" + std::to_string(depth) : "");
  }
};

std::vector<Test> ListTests(const Options& options) {
  std::vector<Test> tests;
  for (const uint32_t depth : options.depths) {
    for (const uint32_t n : options.n_prompt) {
      if (n > 0) tests.push_back({false, depth, n});
    }
    for (const uint32_t n : options.n_generate) {
      if (n > 0) tests.push_back({true, depth, n});
    }
  }
  return tests;
}

// Tokens that a session must hold for all tests.
uint32_t ContextSize(const std::vector<Test>& tests) {
  uint32_t size = 0;
  for (const Test& test : tests) size = std::max(size, std::max(test.depth, 1u) + test.n);
  return size;
}

mf_device_info CpuInfo() {
  mf_device_info info = MF_DEVICE_INFO_INIT;
  mf_device_get_info(0, &info, nullptr);
  return info;
}

void PrintKernels(mf::Context& context) {
  size_t count = 0;
  mf_context_get_kernels(context.get(), nullptr, 0, &count, nullptr);
  mf_kernel_use blank = MF_KERNEL_USE_INIT;
  std::vector<mf_kernel_use> rows(count, blank);
  if (mf_context_get_kernels(context.get(), rows.data(), count, &count, nullptr) != MF_STATUS_OK) {
    return;
  }
  for (const mf_kernel_use& row : rows) {
    std::fprintf(stderr, "%10llu x %-20s %-24s %s (%s)\n",
                 static_cast<unsigned long long>(row.n_calls), row.operation, row.detail,
                 row.kernel, row.reason);
  }
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        tests_(ListTests(options)),
        progress_(options.models.size() * options.threads.size() * options.sessions.size() *
                  options.kv_types.size() * tests_.size()) {}

  mf::Result<void> Model(const std::string& path);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  struct Variant {
    Row row;  // what all of its rows share
    std::unique_ptr<Runner> runner;
  };

  mf::Result<void> Place(const std::string& path, uint32_t n_threads, uint32_t n_sessions,
                         mf_kv_type kv_type);
  mf::Result<void> Measure(const Test& test, std::vector<Variant>* variants);
  // How the first variant saw the choice at which row's tokens part from its own.
  static mf::Result<double> LeadOf(const Test& test, const Row& first, const Row& row,
                                   Runner* runner);
  double MachineBandwidth(uint32_t n_threads);

  const Options& options_;
  const std::vector<Test> tests_;
  Progress progress_;
  std::map<std::string, mf::Model> models_;  // by the model's levers
  std::map<uint32_t, double> bandwidth_;
  std::vector<Row> rows_;
};

double Bench::MachineBandwidth(uint32_t n_threads) {
  const auto known = bandwidth_.find(n_threads);
  if (known != bandwidth_.end()) return known->second;
  progress_.Show("reading memory");
  return bandwidth_[n_threads] = bench::MeasureReadBandwidth(n_threads);
}

mf::Result<void> Bench::Model(const std::string& path) {
  models_.clear();
  for (const std::string& tuning : options_.tunings) {
    const std::string levers = bench::SplitTuning(tuning).model;
    if (models_.count(levers) > 0) continue;
    mf_model_options model_options = MF_MODEL_OPTIONS_INIT;
    model_options.tuning = levers.empty() ? nullptr : levers.c_str();
    options_.device.Apply(&model_options);
    mf::Result<mf::Model> model = mf::Model::load(path, &model_options);
    if (!model) return model.error();
    models_.emplace(levers, *std::move(model));
  }
  for (const uint32_t n_threads : options_.threads) {
    for (const uint32_t n_sessions : options_.sessions) {
      for (const mf_kv_type kv_type : options_.kv_types) {
        const uint32_t threads = n_threads > 0 ? n_threads : CpuInfo().compute_units;
        mf::Result<void> done = Place(path, threads, n_sessions, kv_type);
        if (!done) return done;
      }
    }
  }
  return {};
}

// All tests on one kind of context, with each tuning.
mf::Result<void> Bench::Place(const std::string& path, uint32_t n_threads, uint32_t n_sessions,
                              mf_kv_type kv_type) {
  std::vector<Variant> variants;
  for (const std::string& tuning : options_.tunings) {
    const bench::Tuning levers = bench::SplitTuning(tuning);
    const mf::Model& model = models_.find(levers.model)->second;
    const mf::Result<mf_model_info> info = model.describe();
    if (!info) return info.error();
    bench::RunnerSetup setup;
    setup.n_ctx = ContextSize(tests_);
    setup.n_threads = n_threads;
    setup.n_sessions = n_sessions;
    setup.n_batch = options_.n_batch;
    setup.n_micro_batch = options_.n_micro_batch;
    setup.kv_type = kv_type;
    setup.greedy = options_.greedy;
    setup.tuning = levers.context;
    mf::Result<Runner> runner = Runner::Create(model, setup);
    if (!runner) return runner.error();
    Variant variant;
    variant.row.model = std::string(info->architecture) + " " + info->file_type;
    variant.row.path = path;
    variant.row.model_bytes = info->n_bytes;
    variant.row.n_parameters = info->n_parameters;
    variant.row.kernels = options_.device.info.level;
    variant.row.n_threads = n_threads;
    variant.row.n_sessions = n_sessions;
    variant.row.kv = bench::KvTypeName(kv_type);
    variant.row.tuning = tuning;
    variant.row.greedy = options_.greedy;
    if (options_.device.device.device == 0)
      variant.row.machine_bytes_second = MachineBandwidth(n_threads);
    variant.runner = std::make_unique<Runner>(*std::move(runner));
    variants.push_back(std::move(variant));
  }
  for (const Test& test : tests_) {
    progress_.NextTest();
    mf::Result<void> done = Measure(test, &variants);
    if (!done) return done;
  }
  if (options_.kernels) {
    progress_.Clear();
    for (const Variant& variant : variants) PrintKernels(variant.runner->context());
  }
  return {};
}

mf::Result<void> Bench::Measure(const Test& test, std::vector<Variant>* variants) {
  std::vector<std::vector<double>> rates(variants->size());
  std::vector<std::vector<double>> bytes(variants->size());
  std::vector<std::vector<mf_token>> tokens(variants->size());
  const uint32_t n_warm = options_.warm_up ? 1 : 0;
  for (uint32_t i = 0; i < options_.repetitions + n_warm; ++i) {
    for (size_t v = 0; v < variants->size(); ++v) {
      Variant& variant = (*variants)[v];
      progress_.Show(variant.row.model + " " + test.Name() + ", run " + std::to_string(i + 1) +
                     " of " + std::to_string(options_.repetitions + n_warm));
      mf::Result<bench::Timing> timing = test.generate
                                             ? variant.runner->Generate(test.depth, test.n)
                                             : variant.runner->Prompt(test.depth, test.n);
      if (!timing) return timing.error();
      if (i < n_warm) continue;
      rates[v].push_back(static_cast<double>(timing->n_tokens) / timing->seconds);
      bytes[v].push_back(static_cast<double>(timing->weight_bytes_read) / timing->seconds);
      tokens[v] = std::move(timing->tokens);
    }
  }
  const size_t first = rows_.size();
  for (size_t v = 0; v < variants->size(); ++v) {
    Row row = (*variants)[v].row;
    row.test = test.Name();
    row.samples = rates[v];
    row.tokens = std::move(tokens[v]);
    if (test.generate) row.weight_bytes_second = bench::SpreadOf(bytes[v]).median;
    rows_.push_back(std::move(row));
    const mf::Result<double> lead =
        LeadOf(test, rows_[first], rows_.back(), (*variants)[0].runner.get());
    if (!lead) return lead.error();
    rows_.back().lead = *lead;
  }
  return {};
}

mf::Result<double> Bench::LeadOf(const Test& test, const Row& first, const Row& row,
                                 Runner* runner) {
  if (!row.greedy || row.tokens.size() != first.tokens.size()) return 0.0;
  const auto at = std::mismatch(first.tokens.begin(), first.tokens.end(), row.tokens.begin());
  if (at.first == first.tokens.end()) return 0.0;
  // All sessions are asked the same.
  const auto of_session = static_cast<ptrdiff_t>(first.tokens.size() / first.n_sessions);
  const auto begin = at.first - (at.first - first.tokens.begin()) % of_session;
  return runner->Lead(test.depth, {begin, at.first}, *at.first, *at.second);
}

int Fail(const std::string& path, const mf::Error& error) {
  std::fprintf(stderr, "%s: %s: %s\n", path.c_str(), error.status_name(),
               std::string(error.message()).c_str());
  return 1;
}

int CancelMain(const Options& options) {
  std::vector<bench::CancelRow> rows;
  int exit_code = 0;
  for (const std::string& path : options.models) {
    for (const uint32_t n_threads : options.threads) {
      const uint32_t threads = n_threads > 0 ? n_threads : CpuInfo().compute_units;
      const mf::Result<void> done = bench::MeasureCancel(options, path, threads, &rows);
      if (!done) exit_code = Fail(path, done.error());
    }
  }
  bench::WriteCancelRows(rows, options.format);
  return exit_code;
}

int EncodeMain(const Options& options) {
  std::vector<bench::EncodeRow> rows;
  int exit_code = 0;
  for (const std::string& path : options.models) {
    const mf::Result<void> done = bench::MeasureEncoding(path, options.encode_bytes, &rows);
    if (!done) exit_code = Fail(path, done.error());
  }
  bench::WriteEncodeRows(rows, options.format);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int exit_code = 0;
  if (!bench::ParseOptions(argc, argv, &options, &exit_code)) return exit_code;
  mf_error error = {};
  if (!console::PickDevice(&options.device, &error)) {
    std::fprintf(stderr, "--device: %s\n", error.message);
    return 1;
  }
  if (options.cancel) return CancelMain(options);
  if (options.encode_bytes > 0) return EncodeMain(options);
  std::vector<Row> rows;
  {
    Bench bench(options);
    for (const std::string& path : options.models) {
      const mf::Result<void> done = bench.Model(path);
      if (!done) exit_code = Fail(path, done.error());
    }
    rows = bench.rows();
  }
  bench::WriteRows(rows, options.format);
  return exit_code;
}
