// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Our own threads behind ParallelRunner. The caller of For is worker 0; the others look for work
// for a moment after each call, then sleep. They block all signals, keep the affinity of their
// creator, and compute with the default floating-point environment.
//
// How a call runs. The tasks are cut into one contiguous range a thread, and each thread takes its
// own range first (so that a stage finds its rows in the cache where the last one left them); who
// is done helps the others. The caller can finish everything alone, so a thread that is late or
// starved of its CPU delays nobody but by the task in its hands.
#pragma once

#include <cstdint>
#include <memory>

#include "base/parallel_runner.h"
#include "base/status.h"

namespace minfer {

inline constexpr int32_t kMaxThreads = 512;

struct ThreadPoolOptions {
  int32_t n_threads = 0;  // the caller included; 0: DefaultThreadCount()
  // How long a thread looks for work before it sleeps. -1: 50 microseconds, which bridges the gaps
  // between the stages of a step, or 2 where there are more threads than allowed CPUs.
  int32_t spin_microseconds = -1;
};

class ThreadPool final : public ParallelRunner {
 public:
  // INVALID_ARGUMENT for a count below 0 or above kMaxThreads. Where the system gives fewer threads
  // than asked for, the pool has those it got: see concurrency().
  static StatusOr<std::unique_ptr<ThreadPool>> Create(const ThreadPoolOptions& options);

  // Joins the threads. In a forked child there are none: it forgets them.
  ~ThreadPool() override;

  int32_t concurrency() const override;
  void For(int64_t n_tasks, TaskFn fn, void* arg) override;
  bool TakeFailure() override;

 private:
  struct State;
  explicit ThreadPool(State* state) : state_(state) {}

  State* state_;  // owned; left behind in a forked child, where its waiters no longer exist
};

}  // namespace minfer
