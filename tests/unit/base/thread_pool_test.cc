// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/cpu_info.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

std::unique_ptr<ThreadPool> MakePool(int32_t n_threads, int32_t spin = -1) {
  auto pool = ThreadPool::Create({.n_threads = n_threads, .spin_microseconds = spin});
  MF_REQUIRE_OK(pool);
  return std::move(*pool);
}

size_t ThreadsOfProcess() {
  size_t n = 0;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) n += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return n;
}

// Which worker ran each task, and how often.
struct Record {
  explicit Record(int64_t n) : runs(static_cast<size_t>(n)) {}

  static void Task(void* arg, int64_t task, int32_t worker) {
    auto* self = static_cast<Record*>(arg);
    self->runs[static_cast<size_t>(task)].fetch_add(1);
    if (worker < 0 || worker >= self->workers || self->busy[worker].exchange(true)) {
      self->wrong_worker.store(true);
    }
    self->busy[worker].store(false);
  }

  bool EachOnce() const {
    for (const auto& n : runs) {
      if (n.load() != 1) return false;
    }
    return !wrong_worker.load();
  }

  std::vector<std::atomic<int>> runs;
  int32_t workers = kMaxThreads;
  std::atomic<bool> busy[kMaxThreads] = {};
  std::atomic<bool> wrong_worker{false};
};

TEST_CASE("ThreadPool: each task runs once, on a worker of its own", "[base]") {
  for (const int32_t threads : {1, 2, 3, 7}) {
    const auto pool = MakePool(threads);
    CHECK(pool->concurrency() == threads);
    for (const int64_t n : {0, 1, 2, 3, 5, 8, 100, 1001}) {
      Record record(n);
      record.workers = threads;
      pool->For(n, Record::Task, &record);
      CAPTURE(threads, n);
      CHECK(record.EachOnce());
    }
  }
}

TEST_CASE("ThreadPool: thousands of short calls, sleeping between some", "[base]") {
  for (const int32_t spin : {0, 50}) {
    const auto pool = MakePool(3, spin);
    int64_t sum = 0;
    for (int round = 0; round < 3000; ++round) {
      std::vector<int64_t> squares(static_cast<size_t>(round % 17));
      pool->For(
          static_cast<int64_t>(squares.size()),
          [](void* arg, int64_t task, int32_t) {
            (*static_cast<std::vector<int64_t>*>(arg))[static_cast<size_t>(task)] = task * task;
          },
          &squares);
      for (const int64_t s : squares) sum += s;
      if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int64_t want = 0;
    for (int round = 0; round < 3000; ++round) {
      for (int64_t t = 0; t < round % 17; ++t) want += t * t;
    }
    CHECK(sum == want);
  }
}

TEST_CASE("ThreadPool: G11 64 threads on a small machine finish", "[base][G11]") {
  const auto pool = MakePool(64);
  CHECK(pool->concurrency() <= 64);
  for (int round = 0; round < 20; ++round) {
    Record record(200);
    pool->For(200, Record::Task, &record);
    REQUIRE(record.EachOnce());
  }
}

TEST_CASE("ThreadPool: G11 the count is checked, and 0 means the default", "[base][G11]") {
  CHECK(ThreadPool::Create({.n_threads = -1}).status().code() == StatusCode::kInvalidArgument);
  CHECK(ThreadPool::Create({.n_threads = kMaxThreads + 1}).status().code() ==
        StatusCode::kInvalidArgument);
  CHECK(MakePool(0)->concurrency() == DefaultThreadCount());
}

TEST_CASE("ThreadPool: no thread is left after destroy", "[base]") {
  const size_t before = ThreadsOfProcess();
  {
    const auto pool = MakePool(5);
    CHECK(ThreadsOfProcess() == before + 4);
    Record record(100);
    pool->For(100, Record::Task, &record);
  }
  // A joined thread's entry in /proc may outlive the join by a moment.
  for (int i = 0; i < 1000 && ThreadsOfProcess() != before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(ThreadsOfProcess() == before);
}

TEST_CASE("ThreadPool: a task that throws is told once, and the others still run", "[base]") {
  const auto pool = MakePool(3);
  std::atomic<int> ran{0};
  pool->For(
      50,
      [](void* arg, int64_t task, int32_t) {
        if (task == 7) throw std::runtime_error("planted");
        static_cast<std::atomic<int>*>(arg)->fetch_add(1);
      },
      &ran);
  CHECK(ran.load() == 49);
  CHECK(pool->TakeFailure());
  CHECK(!pool->TakeFailure());
}

// The signal masks seen by the tasks of pool threads.
struct Masks {
  static void Task(void* arg, int64_t, int32_t worker) {
    auto* self = static_cast<Masks*>(arg);
    self->started.fetch_add(1);
    // Every task waits until all threads hold one, so that each thread is seen. Only a test may.
    while (self->started.load() < 3) std::this_thread::yield();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF}) {
      if (worker != 0 && sigismember(&mask, signal) != 1) self->open.store(true);
      if (worker == 0 && sigismember(&mask, signal) != 0) self->caller_changed.store(true);
    }
  }
  std::atomic<int> started{0};
  std::atomic<bool> open{false};
  std::atomic<bool> caller_changed{false};
};

TEST_CASE("ThreadPool: threads block all signals and the creator's mask stays", "[base]") {
  const auto pool = MakePool(3);
  REQUIRE(pool->concurrency() == 3);
  Masks masks;
  pool->For(3, Masks::Task, &masks);
  CHECK(!masks.open.load());
  CHECK(!masks.caller_changed.load());
}

TEST_CASE("ThreadPool: G12 in a forked child calls finish and destroy only forgets",
          "[base][G12]") {
  auto pool = MakePool(3);
  Record warm(10);
  pool->For(10, Record::Task, &warm);
  const pid_t child = fork();
  if (child == 0) {
    Record record(100);
    pool->For(100, Record::Task, &record);
    pool.reset();
    _exit(record.EachOnce() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  Record after(10);
  pool->For(10, Record::Task, &after);
  CHECK(after.EachOnce());
}

}  // namespace
}  // namespace minfer
