// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The queue of the deferred backend: work runs when somebody waits for it, in order, and not
// before.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "backend/buffer.h"
#include "backend/event.h"

namespace minfer::testing {

struct DeferredWork {
  std::function<Status()> run;
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  std::vector<BufferRange> fills;  // written whole
};

class DeferredStream {
 public:
  // The number of the work: it is done once `done()` has reached it.
  uint64_t Enqueue(DeferredWork work);
  // Runs all work up to number `upto`. After an error the rest is dropped, not run.
  void RunUntil(uint64_t upto);
  uint64_t last() const { return first_ + queue_.size(); }
  uint64_t done() const { return first_; }

  bool Writes(BufferId buffer) const;
  bool Uses(BufferId buffer) const;

  // Drops all work without running it.
  void Drop();

  // Nothing may wait while a capture window is open.
  void set_window_open(bool open) { window_open_ = open; }
  bool window_open() const { return window_open_; }

  // The first error since the last TakeError.
  Status error() const { return error_; }
  Status TakeError();

 private:
  std::deque<DeferredWork> queue_;
  uint64_t first_ = 0;  // work that has run or was dropped
  bool window_open_ = false;
  Status error_;
};

// Done when the work enqueued before it is; waiting runs that work.
class DeferredEvent final : public Event {
 public:
  DeferredEvent(std::shared_ptr<DeferredStream> stream, uint64_t number)
      : stream_(std::move(stream)), number_(number) {}
  bool IsDone() const override { return stream_->done() >= number_; }
  Status Wait() override;

 private:
  std::shared_ptr<DeferredStream> stream_;
  const uint64_t number_;
};

}  // namespace minfer::testing
