// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "cancel_latency.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "runner.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr uint32_t kTimesARepetition = 4;

// A call that takes a cancel. `prepare` is not timed.
struct Phase {
  const char* name;
  std::function<mf::Result<void>()> prepare;
  std::function<mf_status(const mf_cancel* cancel)> call;
};

// Runs the call and requests its cancel after `delay`. Adds the milliseconds from the request to
// the return, unless the call had ended before.
mf_status CancelOnce(const Phase& phase, mf::Cancel& cancel, Seconds delay,
                     std::vector<double>* samples) {
  cancel.reset_request();
  Clock::time_point requested;
  std::thread watch([&] {
    std::this_thread::sleep_for(delay);
    requested = Clock::now();
    cancel.request();
  });
  const mf_status status = phase.call(cancel.get());
  const Clock::time_point returned = Clock::now();
  watch.join();
  if (status == MF_STATUS_CANCELLED && returned > requested) {
    samples->push_back(Seconds(returned - requested).count() * 1e3);
  }
  return status == MF_STATUS_CANCELLED ? MF_STATUS_OK : status;
}

mf::Result<void> MeasurePhase(const Options& options, const Phase& phase, CancelRow* row) {
  mf::Result<mf::Cancel> cancel = mf::Cancel::create();
  if (!cancel) return cancel.error();
  mf::Result<void> done = phase.prepare();
  if (!done) return done;
  const Clock::time_point start = Clock::now();
  if (phase.call(nullptr) != MF_STATUS_OK) return phase.prepare();
  const Seconds whole = Clock::now() - start;
  row->phase = phase.name;
  const uint32_t n = options.repetitions * kTimesARepetition;
  for (uint32_t i = 0; i < n; ++i) {
    done = phase.prepare();
    if (!done) return done;
    CancelOnce(phase, *cancel, whole * ((i + 0.5) / n), &row->samples);
  }
  return {};
}

}  // namespace

mf::Result<void> MeasureCancel(const Options& options, const std::string& path, uint32_t n_threads,
                               std::vector<CancelRow>* rows) {
  const Tuning tuning = SplitTuning(options.tunings[0]);
  const uint32_t n_prompt =
      std::max(1u, *std::max_element(options.n_prompt.begin(), options.n_prompt.end()));
  const uint32_t n_generate =
      std::max(1u, *std::max_element(options.n_generate.begin(), options.n_generate.end()));
  mf_model_options model_options = MF_MODEL_OPTIONS_INIT;
  model_options.tuning = tuning.model.empty() ? nullptr : tuning.model.c_str();
  options.device.Apply(&model_options);
  mf::Result<mf::Model> model = mf::Model::load(path, &model_options);
  if (!model) return model.error();
  RunnerSetup setup;
  setup.n_ctx = std::max(n_prompt, n_generate + 1) + 64;
  setup.n_threads = n_threads;
  setup.n_batch = options.n_batch;
  setup.n_micro_batch = options.n_micro_batch;
  setup.kv_type = options.kv_types[0];
  setup.tuning = tuning.context;
  mf::Result<Runner> runner = Runner::Create(*model, setup);
  if (!runner) return runner.error();
  mf::Session& session = runner->session();
  const auto feed = [&](uint32_t n) {
    mf::Result<void> done = session.truncate(0);
    return done ? session.feed(runner->Tokens(n)) : done;
  };
  const std::vector<Phase> phases = {
      {"load", [] { return mf::Result<void>(); },
       [&](const mf_cancel* cancel) {
         mf_model_options with_cancel = model_options;
         with_cancel.load_mode = MF_LOAD_READ;
         with_cancel.cancel = cancel;
         const mf::Result<mf::Model> loaded = mf::Model::load(path, &with_cancel);
         return loaded ? MF_STATUS_OK : loaded.error().status();
       }},
      {"prefill", [&] { return feed(n_prompt); },
       [&](const mf_cancel* cancel) { return session.decode(cancel).error().status(); }},
      {"decode", [&] { return feed(1); },
       [&](const mf_cancel* cancel) {
         mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
         generate.max_tokens = n_generate;
         generate.ignore_end = 1;
         generate.cancel = cancel;
         return session.generate([](std::string_view) {}, &generate).error().status();
       }}};
  for (const Phase& phase : phases) {
    CancelRow row;
    row.model = path.substr(path.rfind('/') + 1);
    row.n_threads = n_threads;
    mf::Result<void> done = MeasurePhase(options, phase, &row);
    if (!done) return done;
    rows->push_back(std::move(row));
  }
  return {};
}

}  // namespace bench
