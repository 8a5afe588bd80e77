// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace bench {
namespace {

// Larger than the last-level cache of any processor that is common.
constexpr size_t kBytes = size_t{1} << 30;
constexpr int kSweeps = 5;

// Eight independent sums, so that the loads and not the additions are what takes the time; the
// compiler turns them into vectors.
uint64_t Sum(const uint64_t* data, size_t n) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= n; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) sums[lane] += data[i + lane];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

double MeasureReadBandwidth(uint32_t n_threads) {
  const size_t n = kBytes / sizeof(uint64_t);
  // Written once, so that every page is there before the first sweep.
  const std::vector<uint64_t> data(n, 1);
  const size_t share = n / n_threads;
  std::atomic<uint64_t> total = 0;
  double best = 0.0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (uint32_t t = 1; t < n_threads; ++t) {
      threads.emplace_back([&, t] { total += Sum(data.data() + t * share, share); });
    }
    total += Sum(data.data(), share);
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(share * n_threads * sizeof(uint64_t)) / time.count());
  }
  // Always true; it keeps the sums from being optimised away.
  return total.load() == share * n_threads * kSweeps ? best : 0.0;
}

}  // namespace bench
