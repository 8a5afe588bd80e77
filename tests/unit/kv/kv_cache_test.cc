// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_cache.h"

#include <map>
#include <random>
#include <set>

#include "tests/support/test_data.h"

namespace minfer {
namespace {

KvCacheConfig Config(int32_t n_ctx, int32_t n_sequences, std::vector<int32_t> windows) {
  KvCacheConfig config;
  config.n_ctx = n_ctx;
  config.n_sequences = n_sequences;
  config.max_step_rows = 32;
  for (int32_t window : windows) {
    KvGroup group;
    group.layers = {static_cast<int32_t>(config.groups.size())};
    group.window = window;
    config.groups.push_back(group);
  }
  return config;
}

void Append(KvCache* cache, KvSequence* sequence, int64_t rows, std::vector<PageCopy>* copies) {
  MF_REQUIRE_OK(cache->Reserve(sequence, rows, copies));
  cache->Commit(sequence, rows);
}

int32_t InUse(const KvCache& cache, int32_t group) {
  return cache.pool(group).total() - 1 - cache.pool(group).available();
}

TEST_CASE("KvCache: E08 a full context is a status and loses nothing", "[kv]") {
  KvCache cache(Config(100, 1, {0}));
  KvSequence sequence = cache.NewSequence();
  std::vector<PageCopy> copies;
  Append(&cache, &sequence, 99, &copies);
  Status status = cache.Reserve(&sequence, 2, &copies);
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(std::string(status.message()).find("1 of 100 cells left") != std::string::npos);
  CHECK(sequence.length() == 99);
  Append(&cache, &sequence, 1, &copies);
  CHECK(sequence.length() == 100);
  CHECK(copies.empty());
  cache.Release(&sequence);
  CHECK(InUse(cache, 0) == 0);
}

TEST_CASE("KvCache: rollback gives back what a step took", "[kv]") {
  KvCache cache(Config(256, 1, {0}));
  KvSequence sequence = cache.NewSequence();
  std::vector<PageCopy> copies;
  Append(&cache, &sequence, 60, &copies);
  MF_REQUIRE_OK(cache.Reserve(&sequence, 32, &copies));
  CHECK(InUse(cache, 0) == 2);
  cache.Rollback(&sequence);
  CHECK(InUse(cache, 0) == 1);
  CHECK(sequence.length() == 60);
  MF_REQUIRE_OK(cache.Reserve(&sequence, 32, &copies));
  cache.Commit(&sequence, 3);  // a part of the rows counts
  CHECK(sequence.length() == 63);
  CHECK(InUse(cache, 0) == 1);
}

TEST_CASE("KvCache: E11 a fork shares pages until one of the two writes", "[kv]") {
  KvCache cache(Config(256, 2, {0}));
  KvSequence a = cache.NewSequence();
  std::vector<PageCopy> copies;
  Append(&cache, &a, 100, &copies);
  KvSequence b = cache.Fork(a);
  CHECK(InUse(cache, 0) == 2);
  CHECK(b.length() == 100);
  CHECK(b.PhysicalCell(0, 99) == a.PhysicalCell(0, 99));

  int32_t shared_page = a.PhysicalCell(0, 99) / kKvPageCells;
  Append(&cache, &b, 1, &copies);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].from == shared_page);
  CHECK(copies[0].to == b.PhysicalCell(0, 99) / kKvPageCells);
  CHECK(b.PhysicalCell(0, 63) == a.PhysicalCell(0, 63));
  copies.clear();
  Append(&cache, &a, 1, &copies);  // now alone on its last page
  CHECK(copies.empty());

  KvSequence empty = cache.NewSequence();
  KvSequence fork_of_empty = cache.Fork(empty);
  CHECK(fork_of_empty.length() == 0);
  cache.Release(&a);
  cache.Release(&b);
  CHECK(InUse(cache, 0) == 0);
}

TEST_CASE("KvCache: E03 truncation outside the cells is refused", "[kv]") {
  KvCache cache(Config(256, 1, {0}));
  KvSequence sequence = cache.NewSequence();
  std::vector<PageCopy> copies;
  Append(&cache, &sequence, 70, &copies);
  CHECK(cache.Truncate(&sequence, 71).code() == StatusCode::kOutOfRange);
  CHECK(cache.Truncate(&sequence, -1).code() == StatusCode::kOutOfRange);
  CHECK(sequence.length() == 70);
  MF_REQUIRE_OK(cache.Truncate(&sequence, 64));
  CHECK(InUse(cache, 0) == 1);
  MF_REQUIRE_OK(cache.Truncate(&sequence, 64));
  MF_REQUIRE_OK(cache.Truncate(&sequence, 0));
  CHECK(InUse(cache, 0) == 0);
}

TEST_CASE("KvCache: E14 a window gives pages back and names the earliest position", "[kv]") {
  KvCache cache(Config(1024, 1, {0, 100}));
  KvSequence sequence = cache.NewSequence();
  std::vector<PageCopy> copies;
  for (int i = 0; i < 30; ++i) Append(&cache, &sequence, 32, &copies);  // 960 cells
  CHECK(InUse(cache, 0) == 15);
  CHECK(InUse(cache, 1) <= 3);
  CHECK(sequence.page_table(1)[0] == -1);
  // Cells from 832 on are held; position p needs the cells p - 99 .. p - 1.
  CHECK(sequence.earliest() == 832);
  Status status = cache.Truncate(&sequence, 900);
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(std::string(status.message()).find("931") != std::string::npos);
  MF_REQUIRE_OK(cache.Truncate(&sequence, 931));
  MF_REQUIRE_OK(cache.Truncate(&sequence, 0));
  Append(&cache, &sequence, 32, &copies);
  CHECK(sequence.length() == 32);
}

TEST_CASE("KvCache: a shuffled pool hands out each page once", "[kv]") {
  PagePool pool(50, 7);
  std::set<int32_t> pages;
  for (int i = 0; i < 49; ++i) {
    StatusOr<int32_t> page = pool.Take();
    MF_REQUIRE_OK(page);
    pages.insert(*page);
  }
  CHECK(pages.size() == 49);
  CHECK(pages.count(PagePool::kScratchPage) == 0);
  CHECK(pool.Take().status().code() == StatusCode::kResourceExhausted);
}

// Random appends, forks, truncations and releases against a plain model of the contents.
TEST_CASE("KvCache: E18 random work keeps every sequence's cells", "[kv]") {
  KvCache cache(Config(300, 8, {0}));
  std::mt19937 random(11);
  std::map<int32_t, int32_t> memory;  // physical cell -> token
  std::vector<KvSequence> sequences;
  std::vector<std::vector<int32_t>> truth;
  int32_t next_token = 1;
  for (int step = 0; step < 10000; ++step) {
    uint32_t action = random() % 10;
    if (sequences.empty() || (action == 0 && sequences.size() < 8)) {
      sequences.push_back(cache.NewSequence());
      truth.emplace_back();
      continue;
    }
    size_t i = random() % sequences.size();
    if (action == 1 && sequences.size() < 8) {
      sequences.push_back(cache.Fork(sequences[i]));
      truth.push_back(truth[i]);
    } else if (action == 2) {
      int64_t length = static_cast<int64_t>(random() % (truth[i].size() + 1));
      MF_REQUIRE_OK(cache.Truncate(&sequences[i], length));
      truth[i].resize(static_cast<size_t>(length));
    } else if (action == 3) {
      cache.Release(&sequences[i]);
      sequences.erase(sequences.begin() + static_cast<int64_t>(i));
      truth.erase(truth.begin() + static_cast<int64_t>(i));
      continue;
    } else {
      int64_t rows = static_cast<int64_t>(random() % 32) + 1;
      std::vector<PageCopy> copies;
      Status status = cache.Reserve(&sequences[i], rows, &copies);
      bool fits = static_cast<int64_t>(truth[i].size()) + rows <= 300;
      REQUIRE(status.ok() == fits);
      if (!fits) continue;
      for (const PageCopy& copy : copies) {
        for (int32_t c = 0; c < kKvPageCells; ++c) {
          memory[copy.to * kKvPageCells + c] = memory[copy.from * kKvPageCells + c];
        }
      }
      int64_t keep = action == 4 ? static_cast<int64_t>(random()) % (rows + 1) : rows;
      for (int64_t r = 0; r < rows; ++r) {
        memory[sequences[i].PhysicalCell(0, sequences[i].length() + r)] = next_token + int32_t(r);
      }
      cache.Commit(&sequences[i], keep);
      for (int64_t r = 0; r < keep; ++r) truth[i].push_back(next_token + static_cast<int32_t>(r));
      next_token += static_cast<int32_t>(rows);
    }
    size_t j = random() % sequences.size();
    REQUIRE(sequences[j].length() == static_cast<int64_t>(truth[j].size()));
    for (size_t c = 0; c < truth[j].size(); ++c) {
      REQUIRE(memory[sequences[j].PhysicalCell(0, static_cast<int64_t>(c))] == truth[j][c]);
    }
  }
  for (KvSequence& sequence : sequences) cache.Release(&sequence);
  CHECK(InUse(cache, 0) == 0);
}

}  // namespace
}  // namespace minfer
