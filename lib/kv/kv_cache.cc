// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_cache.h"

#include <algorithm>
#include <string>
#include <utility>

namespace minfer {
namespace {

constexpr int64_t kCells = kKvPageCells;

int64_t PagesFor(int64_t cells) { return (cells + kCells - 1) / kCells; }

}  // namespace

int32_t PageTableColumns(const KvCacheConfig& config) {
  return static_cast<int32_t>(PagesFor(config.n_ctx));
}

int32_t PoolPages(const KvCacheConfig& config, const KvGroup& group) {
  int64_t pages = PagesFor(config.n_ctx);
  if (group.window > 0) {
    // The window and the rows of a step may start and end in the middle of a page.
    int64_t held = int64_t{group.window} + config.max_step_rows;
    pages = std::min(pages, PagesFor(held) + 1);
  }
  return static_cast<int32_t>(pages * config.n_sequences + 1);
}

int32_t KvSequence::PhysicalCell(int32_t group, int64_t cell) const {
  int32_t page = tables_[static_cast<size_t>(group)][static_cast<size_t>(cell / kCells)];
  return page * kKvPageCells + static_cast<int32_t>(cell % kCells);
}

KvCache::KvCache(KvCacheConfig config)
    : config_(std::move(config)), columns_(PageTableColumns(config_)) {
  pools_.reserve(config_.groups.size());
  for (const KvGroup& group : config_.groups) {
    pools_.emplace_back(PoolPages(config_, group), config_.shuffle_seed);
  }
}

KvSequence KvCache::NewSequence() const {
  KvSequence sequence;
  sequence.tables_.assign(config_.groups.size(),
                          std::vector<int32_t>(static_cast<size_t>(columns_), -1));
  return sequence;
}

// Pages to take so that cells [length, end) can be written: absent ones, and a shared last page.
int64_t KvCache::NewPagesNeeded(const KvSequence& sequence, int32_t group, int64_t end) const {
  const std::vector<int32_t>& table = sequence.tables_[static_cast<size_t>(group)];
  const PagePool& pages = pools_[static_cast<size_t>(group)];
  int64_t needed = 0;
  for (int64_t p = sequence.length_ / kCells; p < PagesFor(end); ++p) {
    int32_t page = table[static_cast<size_t>(p)];
    if (page < 0 || pages.references(page) > 1) ++needed;
  }
  return needed;
}

Status KvCache::Reserve(KvSequence* sequence, int64_t rows, std::vector<PageCopy>* copies) {
  const int64_t end = sequence->length_ + rows;
  if (rows < 0 || end > config_.n_ctx) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kKv,
                  "the context is full: " + std::to_string(rows) + " rows wanted, " +
                      std::to_string(config_.n_ctx - sequence->length_) + " of " +
                      std::to_string(config_.n_ctx) + " cells left");
  }
  const int32_t n_groups = static_cast<int32_t>(config_.groups.size());
  for (int32_t g = 0; g < n_groups; ++g) {
    int64_t needed = NewPagesNeeded(*sequence, g, end);
    if (needed > pools_[static_cast<size_t>(g)].available()) {
      return Status(StatusCode::kResourceExhausted, Subsystem::kKv,
                    "KV group " + std::to_string(g) + ": " + std::to_string(needed) +
                        " pages wanted, " +
                        std::to_string(pools_[static_cast<size_t>(g)].available()) + " free");
    }
  }
  copies->reserve(copies->size() + static_cast<size_t>(n_groups));  // the last allocation
  for (int32_t g = 0; g < n_groups; ++g) ReserveGroup(sequence, g, end, copies);
  sequence->reserved_ = rows;
  return OkStatus();
}

void KvCache::ReserveGroup(KvSequence* sequence, int32_t group, int64_t end,
                           std::vector<PageCopy>* copies) {
  std::vector<int32_t>& table = sequence->tables_[static_cast<size_t>(group)];
  PagePool& pages = pools_[static_cast<size_t>(group)];
  for (int64_t p = sequence->length_ / kCells; p < PagesFor(end); ++p) {
    int32_t& page = table[static_cast<size_t>(p)];
    if (page >= 0 && pages.references(page) == 1) continue;
    StatusOr<int32_t> taken = pages.Take();  // counted by the caller, cannot fail
    if (page >= 0) {
      copies->push_back({group, page, *taken});
      pages.Release(page);
    }
    page = *taken;
  }
}

void KvCache::DropPages(KvSequence* sequence, int32_t group, int64_t first_page,
                        int64_t last_page) {
  std::vector<int32_t>& table = sequence->tables_[static_cast<size_t>(group)];
  for (int64_t p = first_page; p < last_page; ++p) {
    int32_t& page = table[static_cast<size_t>(p)];
    if (page >= 0) pools_[static_cast<size_t>(group)].Release(page);
    page = -1;
  }
}

void KvCache::Commit(KvSequence* sequence, int64_t rows) {
  const int64_t reserved_end = sequence->length_ + sequence->reserved_;
  sequence->length_ += rows;
  sequence->reserved_ = 0;
  for (int32_t g = 0; g < static_cast<int32_t>(config_.groups.size()); ++g) {
    DropPages(sequence, g, PagesFor(sequence->length_), PagesFor(reserved_end));
  }
  DropBehindWindow(sequence);
}

void KvCache::DropBehindWindow(KvSequence* sequence) {
  for (size_t g = 0; g < config_.groups.size(); ++g) {
    const int64_t window = config_.groups[g].window;
    if (window <= 0) continue;
    // The next token sees cells (length - window, length].
    int64_t first_needed = std::max<int64_t>(0, sequence->length_ - window + 1);
    int64_t first_page = first_needed / kCells;
    DropPages(sequence, static_cast<int32_t>(g), 0, first_page);
    sequence->earliest_ = std::max(sequence->earliest_, first_page * kCells);
  }
}

Status KvCache::Truncate(KvSequence* sequence, int64_t length) {
  if (length < 0 || length > sequence->length_) {
    return Status(StatusCode::kOutOfRange, Subsystem::kKv,
                  "cannot truncate to " + std::to_string(length) + ": the session holds " +
                      std::to_string(sequence->length_) + " tokens");
  }
  int64_t earliest = 0;
  for (const KvGroup& group : config_.groups) {
    if (group.window <= 0 || sequence->earliest_ == 0) continue;
    earliest = std::max(earliest, sequence->earliest_ + group.window - 1);
  }
  earliest = std::min(earliest, sequence->length_);
  if (length < earliest && length != 0) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kKv,
                  "cannot truncate to " + std::to_string(length) +
                      ": a sliding window has given up cells; the earliest position is " +
                      std::to_string(earliest) + ", or 0");
  }
  for (int32_t g = 0; g < static_cast<int32_t>(config_.groups.size()); ++g) {
    DropPages(sequence, g, PagesFor(length), columns_);
  }
  sequence->length_ = length;
  if (length == 0) sequence->earliest_ = 0;
  return OkStatus();
}

KvSequence KvCache::Fork(const KvSequence& sequence) {
  KvSequence fork = sequence;
  fork.reserved_ = 0;
  for (size_t g = 0; g < fork.tables_.size(); ++g) {
    for (int64_t p = 0; p < columns_; ++p) {
      int32_t& page = fork.tables_[g][static_cast<size_t>(p)];
      if (page < 0) continue;
      if (p < PagesFor(fork.length_)) {
        pools_[g].AddReference(page);
      } else {
        page = -1;  // reserved by a step of the other one
      }
    }
  }
  return fork;
}

void KvCache::Release(KvSequence* sequence) {
  for (int32_t g = 0; g < static_cast<int32_t>(sequence->tables_.size()); ++g) {
    DropPages(sequence, g, 0, columns_);
  }
  sequence->length_ = 0;
  sequence->reserved_ = 0;
  sequence->earliest_ = 0;
}

}  // namespace minfer
