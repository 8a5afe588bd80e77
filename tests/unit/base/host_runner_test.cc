// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_runner.h"

#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/fp_environment.h"
#include "tests/support/test_data.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace minfer {
namespace {

using RunFn = void (*)(void* task, size_t index);

void Forwards(void*, size_t n, RunFn run, void* task) {
  for (size_t i = 0; i < n; ++i) run(task, i);
}
void Backwards(void*, size_t n, RunFn run, void* task) {
  for (size_t i = n; i > 0; --i) run(task, i - 1);
}
void OnThreads(void*, size_t n, RunFn run, void* task) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < n; ++i) threads.emplace_back(run, task, i);
  for (std::thread& thread : threads) thread.join();
}
void SkipsTheFirst(void*, size_t n, RunFn run, void* task) {
  for (size_t i = 1; i < n; ++i) run(task, i);
}
void RunsTwice(void*, size_t n, RunFn run, void* task) {
  for (size_t i = 0; i < 2 * n; ++i) run(task, i % n);
}
void ThrowsInTheMiddle(void*, size_t n, RunFn run, void* task) {
  for (size_t i = 0; i < n / 2; ++i) run(task, i);
  throw std::runtime_error("host");
}

void CountTask(void* arg, int64_t task, int32_t) {
  ++(*static_cast<std::vector<int>*>(arg))[static_cast<size_t>(task)];
}

std::vector<int> RunCounts(HostRunner* runner, size_t n) {
  std::vector<int> counts(n, 0);
  runner->For(static_cast<int64_t>(n), CountTask, &counts);
  return counts;
}

TEST_CASE("HostRunner: any order and any threads run each task once", "[base]") {
  for (const HostParallelFor host : {Forwards, Backwards, OnThreads}) {
    HostRunner runner(host, nullptr, 4);
    CHECK(runner.concurrency() == 4);
    for (const size_t n : {0u, 1u, 3u, 4u, 5u, 100u}) {
      CHECK(RunCounts(&runner, n) == std::vector<int>(n, 1));
      CHECK(!runner.TakeFailure());
    }
  }
  CHECK(HostRunner(Forwards, nullptr, 0).concurrency() == 1);
}

TEST_CASE("HostRunner: a host that breaks its promise is told, the work still done once",
          "[base]") {
  for (const HostParallelFor host : {SkipsTheFirst, RunsTwice, ThrowsInTheMiddle}) {
    HostRunner runner(host, nullptr, 4);
    CHECK(RunCounts(&runner, 10) == std::vector<int>(10, 1));
    CHECK(runner.TakeFailure());
    CHECK(!runner.TakeFailure());
  }
}

TEST_CASE("HostRunner: a task that throws is told", "[base]") {
  HostRunner runner(OnThreads, nullptr, 3);
  runner.For(
      9,
      [](void*, int64_t task, int32_t) {
        if (task == 4) throw 1;
      },
      nullptr);
  CHECK(runner.TakeFailure());
}

#if defined(__x86_64__)
constexpr uint32_t kDefault = 0x1f80;
constexpr uint32_t kHostile = 0xffc0;  // FTZ, DAZ, round to zero, masked

TEST_CASE("FpEnvironment: default inside, the host's word afterwards", "[base]") {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(kHostile);
  uint32_t inside = 0;
  {
    const FpEnvironment environment;
    inside = _mm_getcsr();
    volatile float small = std::numeric_limits<float>::min();
    small = small / 4.0f;
    CHECK(small > 0.0f);
  }
  const uint32_t after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(inside == kDefault);
  CHECK(after == kHostile);
}

TEST_CASE("HostRunner: tasks compute in the default environment on a host's odd thread", "[base]") {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(kHostile);
  HostRunner runner(OnThreads, nullptr, 3);  // new threads inherit the word
  std::vector<uint32_t> words(9);
  runner.For(
      9,
      [](void* arg, int64_t task, int32_t) {
        (*static_cast<std::vector<uint32_t>*>(arg))[static_cast<size_t>(task)] = _mm_getcsr();
      },
      &words);
  const uint32_t after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(words == std::vector<uint32_t>(9, kDefault));
  CHECK(after == kHostile);
}
#endif

}  // namespace
}  // namespace minfer
