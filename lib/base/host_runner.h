// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The host's parallel_for behind ParallelRunner. The host may run the parts serially, on fewer
// threads, in any order; none waits for another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel_runner.h"

namespace minfer {

// As mf_parallel_for_callback: calls run(task, i) once for each i below n, and returns when all are
// done.
using HostParallelFor = void (*)(void* user_data, size_t n, void (*run)(void* task, size_t index),
                                 void* task);

class HostRunner final : public ParallelRunner {
 public:
  // n_threads: how many parts are worth making; 0 means 1.
  HostRunner(HostParallelFor parallel_for, void* user_data, uint32_t n_threads);

  int32_t concurrency() const override { return n_threads_; }
  // One contiguous range of tasks a part; part i is worker i. Each part sets our floating-point
  // environment for itself.
  void For(int64_t n_tasks, TaskFn fn, void* arg) override;
  bool is_host() const override { return true; }
  // Also true after the host threw, skipped a part or ran one twice.
  bool TakeFailure() override { return failed_.exchange(false); }

 private:
  struct Call;
  static void RunPart(void* call, size_t part);

  HostParallelFor parallel_for_;
  void* user_data_;
  int32_t n_threads_;
  std::vector<std::atomic<bool>> started_;  // parts of the call in progress
  std::atomic<bool> failed_{false};
};

}  // namespace minfer
