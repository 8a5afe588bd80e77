// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/cpu_info.h"
#include "base/fp_environment.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kSpinMicroseconds = 50;
constexpr int32_t kSpinMicrosecondsCrowded = 2;
constexpr int kChecksPerClockRead = 64;
// A kernel uses at most 64 KiB; sanitizers need some more.
constexpr size_t kStackBytes = size_t{1} << 20;
// Tasks of one round: a cursor counts in 32 bits.
constexpr int64_t kMaxRound = int64_t{1} << 30;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// True as soon as done() is, false after `limit`.
template <typename Done>
bool SpinUntil(std::chrono::microseconds limit, Done done) {
  if (done()) return true;
  const Clock::time_point start = Clock::now();
  do {
    for (int i = 0; i < kChecksPerClockRead; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (Clock::now() - start < limit);
  return done();
}

}  // namespace

// One round is one generation. A cursor holds (generation << 32 | tasks left in the range); a
// thread takes tasks by lowering it, which fails once the generation is another. The round's
// function and count are read only after tasks were taken: until these are done the round cannot
// end, so the fields cannot change. The last done task makes remaining 0.
struct ThreadPool::State {
  struct alignas(64) Cursor {
    std::atomic<uint64_t> value{0};
  };
  struct Worker {
    State* state = nullptr;
    int32_t index = 0;
    pthread_t thread = {};
  };

  int32_t n_threads = 1;
  pid_t owner = getpid();
  std::chrono::microseconds spin{0};
  std::vector<Worker> workers;  // [0] is the caller
  std::vector<Cursor> cursors;

  std::atomic<TaskFn> fn{nullptr};
  std::atomic<void*> arg{nullptr};
  std::atomic<int64_t> first{0};
  std::atomic<int64_t> count{0};
  std::atomic<bool> failed{false};
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<int64_t> remaining{0};

  // Sleeping. A sleeper announces itself, then looks again; who changes the word changes it, then
  // looks for sleepers: with sequential consistency one of them sees the other.
  std::mutex mutex;
  std::condition_variable work_cv;
  std::condition_variable done_cv;
  std::atomic<int32_t> sleeping{0};
  std::atomic<bool> caller_sleeping{false};
  std::atomic<bool> stop{false};

  static void* Enter(void* worker);
  void Announce(uint32_t next_generation);
  void RunRound(int64_t round_first, int64_t n, TaskFn task, void* task_arg);
  void Work(uint32_t round, int32_t worker);
  void TakeFrom(uint32_t round, int32_t range, int32_t worker);
  void RunTask(TaskFn task, void* task_arg, int64_t index, int32_t worker);
  uint32_t WaitForWork(uint32_t seen);
  void WaitForDone();
  void StartThreads();
  void StopThreads();
};

void* ThreadPool::State::Enter(void* worker) {
  const FpEnvironment environment;
  auto* self = static_cast<Worker*>(worker);
  uint32_t seen = 0;
  try {
    while (true) {
      seen = self->state->WaitForWork(seen);
      if (self->state->stop.load()) break;
      self->state->Work(seen, self->index);
    }
  } catch (...) {  // a lock that failed; the others do this thread's tasks
    self->state->failed.store(true);
  }
  return nullptr;
}

uint32_t ThreadPool::State::WaitForWork(uint32_t seen) {
  const auto changed = [&] { return generation.load(std::memory_order_acquire) != seen; };
  if (!SpinUntil(spin, changed)) {
    std::unique_lock<std::mutex> lock(mutex);
    sleeping.fetch_add(1);
    while (generation.load() == seen) work_cv.wait(lock);
    sleeping.fetch_sub(1);
  }
  return generation.load(std::memory_order_acquire);
}

void ThreadPool::State::WaitForDone() {
  const auto done = [&] { return remaining.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(spin, done)) return;
  std::unique_lock<std::mutex> lock(mutex);
  caller_sleeping.store(true);
  while (remaining.load() != 0) done_cv.wait(lock);
  caller_sleeping.store(false);
}

void ThreadPool::State::Announce(uint32_t next_generation) {
  generation.store(next_generation);
  // In a forked child the sleepers exist in memory only, and waking them could wait for them.
  if (sleeping.load() == 0 || owner != getpid()) return;
  { const std::lock_guard<std::mutex> lock(mutex); }
  work_cv.notify_all();
}

void ThreadPool::State::RunTask(TaskFn task, void* task_arg, int64_t index, int32_t worker) {
  try {
    task(task_arg, index, worker);
  } catch (...) {
    failed.store(true);
  }
}

void ThreadPool::State::TakeFrom(uint32_t round, int32_t range, int32_t worker) {
  std::atomic<uint64_t>& cursor = cursors[static_cast<size_t>(range)].value;
  uint64_t value = cursor.load(std::memory_order_acquire);
  while (value >> 32 == round && static_cast<uint32_t>(value) != 0) {
    const auto left = static_cast<int64_t>(static_cast<uint32_t>(value));
    // A quarter of what is left: few exchanges, and enough stays for those who help.
    const int64_t take = std::max<int64_t>(1, left / 4);
    if (!cursor.compare_exchange_weak(value, value - static_cast<uint64_t>(take),
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
      continue;
    }
    const int64_t n = count.load(std::memory_order_relaxed);
    const int64_t begin =
        n * (range + 1) / n_threads - left + first.load(std::memory_order_relaxed);
    TaskFn task = fn.load(std::memory_order_relaxed);
    void* task_arg = arg.load(std::memory_order_relaxed);
    for (int64_t i = begin; i < begin + take; ++i) RunTask(task, task_arg, i, worker);
    if (remaining.fetch_sub(take) == take && caller_sleeping.load()) {
      { const std::lock_guard<std::mutex> lock(mutex); }
      done_cv.notify_one();
    }
    value = cursor.load(std::memory_order_acquire);
  }
}

void ThreadPool::State::Work(uint32_t round, int32_t worker) {
  for (int32_t i = 0; i < n_threads; ++i) TakeFrom(round, (worker + i) % n_threads, worker);
}

void ThreadPool::State::RunRound(int64_t round_first, int64_t n, TaskFn task, void* task_arg) {
  const uint32_t round = generation.load(std::memory_order_relaxed) + 1;
  fn.store(task, std::memory_order_relaxed);
  arg.store(task_arg, std::memory_order_relaxed);
  first.store(round_first, std::memory_order_relaxed);
  count.store(n, std::memory_order_relaxed);
  remaining.store(n, std::memory_order_relaxed);
  for (int32_t w = 0; w < n_threads; ++w) {
    const int64_t left = n * (w + 1) / n_threads - n * w / n_threads;
    cursors[static_cast<size_t>(w)].value.store(uint64_t{round} << 32 | static_cast<uint64_t>(left),
                                                std::memory_order_release);
  }
  Announce(round);
  Work(round, 0);
  WaitForDone();
}

void ThreadPool::State::StartThreads() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    n_threads = 1;
    return;
  }
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // A thread starts with its creator's mask, so the mask is right from its first instruction.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int32_t started = 1;
  for (; started < n_threads; ++started) {
    Worker& worker = workers[static_cast<size_t>(started)];
    worker.state = this;
    worker.index = started;
    if (pthread_create(&worker.thread, &attributes, Enter, &worker) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  // No round has run yet, so no thread has read the count: it may still shrink.
  n_threads = started;
}

void ThreadPool::State::StopThreads() {
  stop.store(true);
  Announce(generation.load() + 1);
  for (int32_t w = 1; w < n_threads; ++w) {
    pthread_join(workers[static_cast<size_t>(w)].thread, nullptr);
  }
}

StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const ThreadPoolOptions& options) {
  if (options.n_threads < 0 || options.n_threads > kMaxThreads) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                  StrCat("n_threads is ", options.n_threads, ", allowed are 0 to ", kMaxThreads));
  }
  auto state = std::make_unique<State>();
  state->n_threads =
      options.n_threads == 0 ? std::min(DefaultThreadCount(), kMaxThreads) : options.n_threads;
  int32_t spin = options.spin_microseconds;
  if (spin < 0) {
    spin = state->n_threads <= AllowedCpuCount() ? kSpinMicroseconds : kSpinMicrosecondsCrowded;
  }
  state->spin = std::chrono::microseconds(spin);
  state->workers = std::vector<State::Worker>(static_cast<size_t>(state->n_threads));
  state->cursors = std::vector<State::Cursor>(static_cast<size_t>(state->n_threads));
  auto pool = std::unique_ptr<ThreadPool>(new ThreadPool(state.get()));
  state->StartThreads();
  [[maybe_unused]] const State* const owned_by_pool = state.release();
  return pool;
}

ThreadPool::~ThreadPool() {
  if (state_->owner != getpid()) return;
  state_->StopThreads();
  delete state_;
}

int32_t ThreadPool::concurrency() const { return state_->n_threads; }

void ThreadPool::For(int64_t n_tasks, TaskFn fn, void* arg) {
  if (state_->n_threads == 1 || n_tasks == 1) {
    for (int64_t i = 0; i < n_tasks; ++i) state_->RunTask(fn, arg, i, 0);
    return;
  }
  for (int64_t first = 0; first < n_tasks; first += kMaxRound) {
    state_->RunRound(first, std::min(kMaxRound, n_tasks - first), fn, arg);
  }
}

bool ThreadPool::TakeFailure() { return state_->failed.exchange(false); }

}  // namespace minfer
