// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where parallel work runs: our own pool or the host's. A task does the same work whichever thread
// runs it and whatever ran before, so that the number of threads never changes a bit.
#pragma once

#include <cstdint>

namespace minfer {

class ParallelRunner {
 public:
  // Runs task `task`. worker: below concurrency(), and no two tasks that run at the same time have
  // the same one, so it indexes scratch memory. Does not throw.
  using TaskFn = void (*)(void* arg, int64_t task, int32_t worker);

  virtual ~ParallelRunner() = default;
  // The most tasks that run at once; at least 1.
  virtual int32_t concurrency() const = 0;
  // Runs fn for each task in [0, n_tasks) and returns when all are done. One caller at a time.
  virtual void For(int64_t n_tasks, TaskFn fn, void* arg) = 0;
  // True once after a task threw, or the host broke its promise: the results of the calls since
  // the last TakeFailure must not be used.
  virtual bool TakeFailure() { return false; }
  // Whether the threads are the host's, and so a failure too.
  virtual bool is_host() const { return false; }
};

// The calling thread alone.
class SerialRunner final : public ParallelRunner {
 public:
  int32_t concurrency() const override { return 1; }
  void For(int64_t n_tasks, TaskFn fn, void* arg) override {
    for (int64_t task = 0; task < n_tasks; ++task) fn(arg, task, 0);
  }
};

}  // namespace minfer
