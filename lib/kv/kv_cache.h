// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Page tables of sequences over the page pools of the KV groups. A group is the layers that share
// window and shape; each has its own pool, and each sequence a page table in each group.
//
// A step is Reserve (room for its rows, private pages where they will write), then either Commit
// (the rows count) or Rollback (as if nothing had been reserved). Logical cell c of a sequence is
// its c-th token; the page table says where it lives. Thread-compatible: the context's step lock.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "backend/backend.h"
#include "base/status.h"
#include "kv/page_pool.h"

namespace minfer {

struct KvGroup {
  std::vector<int32_t> layers;
  KvLayerShape shape;
  int32_t window = 0;  // 0: every earlier token is seen
};

struct KvCacheConfig {
  std::vector<KvGroup> groups;
  int32_t n_ctx = 0;          // cells of one sequence
  int32_t n_sequences = 1;    // sequences that can be full at the same time
  int32_t max_step_rows = 1;  // most rows of one sequence in one step
  uint64_t shuffle_seed = 0;
};

// Columns of a page table.
int32_t PageTableColumns(const KvCacheConfig& config);
// Pages of a group's pool, the scratch page included.
int32_t PoolPages(const KvCacheConfig& config, const KvGroup& group);

// A page whose content must be copied before the step, in every layer of the group.
struct PageCopy {
  int32_t group = 0;
  int32_t from = 0;
  int32_t to = 0;
};

class KvCache;

// One sequence's tables. Made by KvCache, and given back to it.
class KvSequence {
 public:
  int64_t length() const { return length_; }
  // The first cell whose pages are still held in every group; later than 0 behind a window.
  int64_t earliest() const { return earliest_; }
  absl::Span<const int32_t> page_table(int32_t group) const {
    return tables_[static_cast<size_t>(group)];
  }
  // page * kKvPageCells + slot of a logical cell.
  int32_t PhysicalCell(int32_t group, int64_t cell) const;

 private:
  friend class KvCache;
  std::vector<std::vector<int32_t>> tables_;  // a group; -1: no page
  int64_t length_ = 0;
  int64_t reserved_ = 0;  // cells of the step in progress
  int64_t earliest_ = 0;
};

class KvCache {
 public:
  explicit KvCache(KvCacheConfig config);

  const KvCacheConfig& config() const { return config_; }
  int32_t columns() const { return columns_; }
  const PagePool& pool(int32_t group) const { return pools_[static_cast<size_t>(group)]; }

  KvSequence NewSequence() const;
  // Room for `rows` more cells: all or nothing. Adds the pages to copy first to `copies`.
  // RESOURCE_EXHAUSTED when the context is full (rows wanted and cells left in the message).
  Status Reserve(KvSequence* sequence, int64_t rows, std::vector<PageCopy>* copies);
  // The first `rows` of the reserved cells count; pages behind a window are given back.
  void Commit(KvSequence* sequence, int64_t rows);
  void Rollback(KvSequence* sequence) { Commit(sequence, 0); }
  // Back to `length` cells. OUT_OF_RANGE beyond the present length; FAILED_PRECONDITION, naming the
  // earliest possible one, where a window has already given up the cells that it would need.
  Status Truncate(KvSequence* sequence, int64_t length);
  // Another sequence with the same cells; the pages are shared until one of them writes.
  KvSequence Fork(const KvSequence& sequence);
  void Release(KvSequence* sequence);

 private:
  int64_t NewPagesNeeded(const KvSequence& sequence, int32_t group, int64_t end) const;
  void ReserveGroup(KvSequence* sequence, int32_t group, int64_t end,
                    std::vector<PageCopy>* copies);
  void DropPages(KvSequence* sequence, int32_t group, int64_t first_page, int64_t last_page);
  void DropBehindWindow(KvSequence* sequence);

  KvCacheConfig config_;
  int32_t columns_;
  std::vector<PagePool> pools_;
};

}  // namespace minfer
