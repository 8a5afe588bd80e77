// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_account.h"

#include <thread>
#include <vector>

#include "tests/support/test_data.h"

namespace minfer {
namespace {

TEST_CASE("MemoryAccount: it counts by class, with peaks of each and of the total", "[base]") {
  MemoryAccount account;
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kWeights, 100));
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kKv, 50));
  account.Release(MemoryClass::kWeights, 100);
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kScratch, 20));
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kMapped, 1000));
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kHostObjects, 7));
  const MemoryAccount::Snapshot now = account.Read();
  CHECK(now.of(MemoryClass::kWeights).bytes == 0);
  CHECK(now.of(MemoryClass::kWeights).peak == 100);
  CHECK(now.of(MemoryClass::kKv).bytes == 50);
  CHECK(now.of(MemoryClass::kMapped).bytes == 1000);
  CHECK(now.total.bytes == 70);
  CHECK(now.total.peak == 150);
  CHECK(now.budget == 0);
}

TEST_CASE("MemoryAccount: a budget is kept to the byte and refused with the numbers", "[base]") {
  MemoryAccount account(100);
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kWeights, 60));
  const Status status = account.Reserve(MemoryClass::kKv, 41, "kv pages");
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.bytes_wanted() == 41);
  CHECK(status.bytes_available() == 40);
  CHECK(status.name() == "kv pages");
  CHECK(account.Read().total.bytes == 60);
  CHECK(account.Read().of(MemoryClass::kKv).peak == 0);
  CHECK_FALSE(account.Reserve(MemoryClass::kKv, UINT64_MAX).ok());
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kCapturedGraphs, 40));
  CHECK_FALSE(account.Reserve(MemoryClass::kStaging, 1).ok());
  // What is not ours, and estimates, are counted beside the budget.
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kMapped, 1 << 20));
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kHostObjects, 1 << 20));
  account.Release(MemoryClass::kWeights, 60);
  MF_REQUIRE_OK(account.Reserve(MemoryClass::kKv, 60));
}

TEST_CASE("MemoryAccount: threads at once lose no byte and never pass the budget", "[base]") {
  MemoryAccount account(300);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&account] {
      for (int i = 0; i < 5000; ++i) {
        if (account.Reserve(MemoryClass::kActivations, 100).ok()) {
          account.Release(MemoryClass::kActivations, 100);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(account.Read().total.bytes == 0);
  CHECK(account.Read().total.peak <= 300);
  CHECK(account.Read().total.peak >= 100);
}

}  // namespace
}  // namespace minfer
