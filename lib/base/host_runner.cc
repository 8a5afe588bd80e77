// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_runner.h"

#include <algorithm>

#include "base/fp_environment.h"

namespace minfer {
namespace {

constexpr uint32_t kMaxParts = 512;

}  // namespace

// Parts of one call. A part that the host skips is run by the caller, one that it runs twice is run
// once: the results stay whole, and the failure is told.
struct HostRunner::Call {
  HostRunner* runner;
  TaskFn fn;
  void* arg;
  int64_t n_tasks;
  int64_t n_parts;
};

HostRunner::HostRunner(HostParallelFor parallel_for, void* user_data, uint32_t n_threads)
    : parallel_for_(parallel_for),
      user_data_(user_data),
      n_threads_(static_cast<int32_t>(std::clamp(n_threads, uint32_t{1}, kMaxParts))),
      started_(static_cast<size_t>(n_threads_)) {}

void HostRunner::RunPart(void* opaque, size_t part) {
  auto* call = static_cast<Call*>(opaque);
  const FpEnvironment environment;
  const auto index = static_cast<int64_t>(part);
  if (index >= call->n_parts || call->runner->started_[part].exchange(true)) {
    call->runner->failed_.store(true);
    return;
  }
  const int64_t end = call->n_tasks * (index + 1) / call->n_parts;
  for (int64_t task = call->n_tasks * index / call->n_parts; task < end; ++task) {
    try {
      call->fn(call->arg, task, static_cast<int32_t>(part));
    } catch (...) {
      call->runner->failed_.store(true);
    }
  }
}

void HostRunner::For(int64_t n_tasks, TaskFn fn, void* arg) {
  if (n_tasks <= 0) return;
  Call call = {this, fn, arg, n_tasks, std::min<int64_t>(n_tasks, n_threads_)};
  for (std::atomic<bool>& started : started_) started.store(false);
  if (call.n_parts == 1) {
    RunPart(&call, 0);
    return;
  }
  try {
    parallel_for_(user_data_, static_cast<size_t>(call.n_parts), RunPart, &call);
  } catch (...) {
    failed_.store(true);
  }
  for (int64_t part = 0; part < call.n_parts; ++part) {
    if (started_[static_cast<size_t>(part)].load()) continue;
    failed_.store(true);
    RunPart(&call, static_cast<size_t>(part));
  }
}

}  // namespace minfer
